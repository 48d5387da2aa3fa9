package test

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
)

func noGlobals(all program) (problems []string) {
	for _, p := range all {
		for _, file := range p.Syntax {
			problems = append(problems, changedGlobals(p, file)...)
		}
		lazy := lazyConstants(p)
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			if v, ok := scope.Lookup(name).(*types.Var); ok && !constant(v.Type()) && !lazy[v] {
				problems = append(problems, fmt.Sprintf("%s: the package-level variable %s is a %s: only errors, compiled "+
					"patterns, embedded files and tables that never change may be package-level",
					p.Fset.Position(v.Pos()), name, v.Type()))
			}
		}
	}
	return problems
}

// lazyConstants returns the variables that are declared as sync.OnceValue(…): tables that are made when first needed.
func lazyConstants(p *packages.Package) map[*types.Var]bool {
	lazy := map[*types.Var]bool{}
	for _, declared := range p.TypesInfo.InitOrder {
		call, ok := declared.Rhs.(*ast.CallExpr)
		if !ok {
			continue
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok {
			made := p.TypesInfo.Uses[f.Sel]
			if made.Pkg() != nil && made.Pkg().Path() == "sync" && strings.HasPrefix(made.Name(), "OnceValue") {
				lazy[declared.Lhs[0]] = true
			}
		}
	}
	return lazy
}

// constant says whether a package-level variable of a type can be as good as a constant.
func constant(t types.Type) bool {
	switch t.String() {
	case "error", "*regexp.Regexp", "*text/template.Template", "*html/template.Template", "*strings.Replacer", "embed.FS":
		return true
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Signature, *types.Chan, *types.Interface:
		return false
	}
	return true
}

// changedGlobals finds where a file changes a package-level variable: assigns to it or to a part of it, takes its
// address, deletes from it, or calls a method that could change it.
func changedGlobals(p *packages.Package, file *ast.File) (problems []string) {
	report := func(e ast.Expr, how string) {
		if v := global(p, e); v != nil && v.Name() != "_" {
			problems = append(problems, fmt.Sprintf("%s: the package-level variable %s %s", p.Fset.Position(e.Pos()), v.Name(), how))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				report(left, "is assigned to")
			}
		case *ast.IncDecStmt:
			report(n.X, "is counted")
		case *ast.RangeStmt:
			report(n.Key, "is assigned to")
			report(n.Value, "is assigned to")
		case *ast.UnaryExpr:
			if n.Op.String() == "&" {
				report(n.X, "has its address taken")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
				report(n.Args[0], "is deleted from")
			}
		case *ast.SelectorExpr:
			s := p.TypesInfo.Selections[n]
			if s == nil || s.Kind() != types.MethodVal {
				break
			}
			_, byPointer := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
			if _, isPointer := s.Recv().(*types.Pointer); byPointer && !isPointer {
				report(n.X, "has a method called that can change it")
			}
		}
		return true
	})
	return problems
}

// global returns the package-level variable that an expression is, or is a part of.
func global(p *packages.Package, e ast.Expr) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			if v, ok := p.TypesInfo.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
				return v // of another package
			}
			e = x.X
		case *ast.Ident:
			v, ok := p.TypesInfo.Uses[x].(*types.Var)
			if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				return v
			}
			return nil
		default:
			return nil
		}
	}
}
