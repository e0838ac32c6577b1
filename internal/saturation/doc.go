// Package saturation derives the order of writers that the levels below snapshot isolation
// force. It does so from reads and session order (Biswas and Enea, On the Complexity of
// Checking Transactional Consistency, figures 2a to 2c). Where t3 read x from t1, and t2 wrote
// x as well, t2 comes before t1 if
//
//   - t3 had read from t2 before it read x: read committed there, monotonic atomic
//     view here ([AtomicView], figure 2a);
//   - t3 read from t2 ([Atomic]), or follows it in its session ([SessionAtomic]):
//     read atomic (figure 2b);
//   - t2 is in the causal past of t3: causal consistency ([Causal], figure 2c).
//
// A level holds if these edges, the reads and, in its strong-session variant, the
// session order have no cycle.
//
// Transactions are taken in one by one, those they depend on first. A causal past is a clock
// over chains. A chain is a session while it is in use. In one chain, only the latest writer of
// a key in the past gives an edge: the others come before it. The edge is left out where t1's
// own past holds t2. So a read costs one look for each chain that wrote its key, whatever the
// length of the stream.
//
// It knows numbers only: no values, no times, no I/O.
package saturation
