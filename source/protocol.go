package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// A remote is one branch of one repository that is not our store.
type remote interface {
	// fetch returns the branch's head. Unless skip says that it need not, it brings all that the head leads to
	// into the store. The heads are commits that the store has with all that they lead to; without any, the
	// store is empty.
	fetch(ctx context.Context, skip func(plumbing.Hash) bool, into *store, heads []plumbing.Hash) (plumbing.Hash, error)
	close()
}

var (
	errShallowRemote = errors.New("the repository is a shallow clone, whose history is incomplete: serve a full one (git fetch --unshallow)")
	errSHA256        = errors.New("the repository uses SHA-256 object names, which are not supported: use a SHA-1 repository")
)

// readGreeting reads how a server begins, and returns the version that it speaks, 0 for 1 too, and what is to be read
// next: for version 2 its capabilities, otherwise its references. Version 1 is version 0 that says so first.
func readGreeting(r io.Reader) (int, io.Reader, error) {
	s := pktline.NewScanner(r)
	service := false
	for s.Scan() {
		line := s.Bytes()
		switch text := strings.TrimSuffix(string(line), "\n"); {
		case strings.HasPrefix(text, "# service="): // over HTTP
			service = true
		case text == "" && service: // the end of that
			service = false
		case text == "version 2":
			return 2, r, nil
		case text == "version 1":
			return 0, r, nil
		case text == "":
			return 0, io.MultiReader(bytes.NewReader(pktline.FlushPkt), r), nil
		default:
			first := fmt.Sprintf("%04x%s", len(line)+4, line)
			return 0, io.MultiReader(strings.NewReader(first), r), nil
		}
	}
	return 0, nil, brokenOff(s.Err())
}

// version 2 of the protocol: gitprotocol-v2(5). Only it lets a client ask for one reference.

// readCapabilities reads what a server of version 2 can, and refuses what we cannot.
func readCapabilities(r io.Reader) error {
	s := pktline.NewScanner(r)
	for s.Scan() {
		switch line := strings.TrimSuffix(string(s.Bytes()), "\n"); {
		case line == "":
			return nil
		case strings.HasPrefix(line, "object-format=") && line != "object-format=sha1":
			return errSHA256
		}
	}
	return brokenOff(s.Err())
}

const delimiter = "0001"

func lsRefsRequest(ref *followed) []byte {
	var b bytes.Buffer
	e := pktline.NewEncoder(&b)
	e.EncodeString("command=ls-refs\n", "agent="+capability.DefaultAgent()+"\n")
	b.WriteString(delimiter)
	e.EncodeString("ref-prefix " + ref.prefix() + "\n")
	e.Flush()
	return b.Bytes()
}

// readLsRefs returns what the followed reference stands for.
func readLsRefs(r io.Reader, ref *followed) (plumbing.Hash, error) {
	s := pktline.NewScanner(r)
	found := map[string]plumbing.Hash{}
	for s.Scan() {
		line := strings.TrimSuffix(string(s.Bytes()), "\n")
		if line == "" { // flush: the end
			return ref.pick(found)
		}
		hash, name, ok := strings.Cut(line, " ")
		if !ok || !plumbing.IsHash(hash) {
			return plumbing.ZeroHash, fmt.Errorf("cannot understand the answer to ls-refs: %.80q", line)
		}
		if strings.HasPrefix(name, ref.prefix()) { // a server need not heed it
			found[name] = plumbing.NewHash(hash)
		}
	}
	return plumbing.ZeroHash, brokenOff(s.Err())
}

func fetchRequest(want plumbing.Hash, haves []plumbing.Hash) []byte {
	var b bytes.Buffer
	e := pktline.NewEncoder(&b)
	e.EncodeString("command=fetch\n", "agent="+capability.DefaultAgent()+"\n")
	b.WriteString(delimiter)
	if len(haves) > 0 {
		e.EncodeString("thin-pack\n")
	}
	e.EncodeString("no-progress\n", "ofs-delta\n", "want "+want.String()+"\n")
	for _, h := range haves {
		e.EncodeString("have " + h.String() + "\n")
	}
	e.EncodeString("done\n")
	e.Flush()
	return b.Bytes()
}

// readFetch returns the pack in the answer to a fetchRequest. As the request said "done", the answer has no
// acknowledgments, and begins with the pack unless the server has something special to say.
func readFetch(r io.Reader) (io.Reader, error) {
	s := pktline.NewScanner(r)
	if !s.Scan() {
		return nil, brokenOff(s.Err())
	}
	switch line := strings.TrimSuffix(string(s.Bytes()), "\n"); line {
	case "packfile":
		return packReader{sideband.NewDemuxer(sideband.Sideband64k, r)}, nil
	case "shallow-info":
		return nil, errShallowRemote
	default:
		return nil, fmt.Errorf("cannot understand the answer to fetch: %.80q", line)
	}
}

// version 0: gitprotocol-pack(5). All servers speak it.

// readAdvertised returns what the followed reference stands for, from the list of all references.
func readAdvertised(r io.Reader, ref *followed) (plumbing.Hash, *capability.List, error) {
	ar := packp.NewAdvRefs()
	if err := ar.Decode(r); err != nil {
		if errors.Is(err, packp.ErrEmptyAdvRefs) {
			return plumbing.ZeroHash, nil, fmt.Errorf("%w: it is empty", ErrBranchGone)
		}
		// The decoder stumbles over the longer names and repeats the line.
		if strings.Contains(err.Error(), "object-format=sha256") {
			err = errSHA256
		}
		return plumbing.ZeroHash, nil, tidied(err)
	}
	if len(ar.Shallows) > 0 {
		return plumbing.ZeroHash, nil, errShallowRemote
	}
	head, err := ref.pick(ar.References)
	if err != nil {
		return head, nil, err
	}
	if !ar.Capabilities.Supports(capability.Sideband64k) {
		return plumbing.ZeroHash, nil, errors.New("the server is too old: it does not offer side-band-64k")
	}
	return head, ar.Capabilities, nil
}

func uploadRequest(caps *capability.List, want plumbing.Hash, haves []plumbing.Hash) ([]byte, error) {
	req := packp.NewUploadPackRequest()
	for _, c := range []capability.Capability{capability.Sideband64k, capability.OFSDelta, capability.NoProgress, capability.ThinPack} {
		if c == capability.ThinPack && len(haves) == 0 || !caps.Supports(c) {
			continue
		}
		if err := req.Capabilities.Set(c); err != nil {
			return nil, err
		}
	}
	req.Wants, req.Haves = []plumbing.Hash{want}, haves
	var b bytes.Buffer
	if err := req.UploadRequest.Encode(&b); err != nil {
		return nil, err
	}
	// No flush between the haves and "done": the server then answers with one line exactly.
	if err := req.UploadHaves.Encode(&b, false); err != nil {
		return nil, err
	}
	err := pktline.NewEncoder(&b).EncodeString("done\n")
	return b.Bytes(), err
}

// readUpload returns the pack in the answer to an uploadRequest. Before it come acknowledgments of what is common, one
// or several, or a refusal of all.
func readUpload(r io.Reader) (io.Reader, error) {
	s := pktline.NewScanner(r)
	for s.Scan() {
		line := s.Bytes()
		switch {
		case bytes.HasPrefix(line, []byte("ACK ")), bytes.HasPrefix(line, []byte("NAK")):
		case len(line) > 0 && line[0] <= byte(sideband.ErrorMessage):
			first := fmt.Sprintf("%04x%s", len(line)+4, line)
			return packReader{sideband.NewDemuxer(sideband.Sideband64k, io.MultiReader(strings.NewReader(first), r))}, nil
		default:
			return nil, fmt.Errorf("cannot understand the server's answer: %.80q", line)
		}
	}
	return nil, brokenOff(s.Err())
}

// brokenOff makes the end of the input an error: the scanner takes it for none.
func brokenOff(err error) error {
	if err == nil {
		return fmt.Errorf("the connection broke off: %w", io.ErrUnexpectedEOF)
	}
	var line *pktline.ErrorLine
	if errors.As(err, &line) {
		return fmt.Errorf("the server says: %s", spoken(line.Text))
	}
	return err
}
