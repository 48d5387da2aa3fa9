package web

import (
	"errors"
	"strings"
)

// Login is a user and a password.
type Login struct{ User, Password string }

// ReadLogin reads USER:PASSWORD; nothing is no login. Its error does not repeat what it was given.
func ReadLogin(text string) (*Login, error) {
	if text == "" {
		return nil, nil
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok || user == "" || strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("the secret is not USER:PASSWORD in one line")
	}
	return &Login{user, password}, nil
}
