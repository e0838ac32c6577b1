// Package mutate changes a package in one place at a time, and finds the changes that no
// test notices.
//
// All mutants of a package are in one test binary, which is told by an environment
// variable which one it is to be: `go test -c -overlay` builds it once for each
// package of tests, and no file of the tree is touched. So a mutant costs a run and no
// build. That is why no mutation tester from elsewhere is used: they build each mutant.
//
// What is changed:
//
//   - a condition of an if, a case or a bool result is always true, or never; that of a
//     loop is never;
//   - an operand of "and" or "or" is left out;
//   - an order loses or gains its bound: < is <=, >= is >;
//   - an integer is one more; a named one is 1 wherever it is used;
//   - + is -, and - is +; min is max, and max is min;
//   - a call, an assignment, an increment, a break, a continue or a bare return is left out;
//   - a function does nothing, and returns zero values.
//
// Each mutant is judged by several test binaries, the quick ones first (see [Judge]). A
// mutant that no test of a judge reaches is not run there: the first run of each notes
// what it reaches.
package mutate
