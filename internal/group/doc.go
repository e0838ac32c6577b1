// Package group decides which member of a group watches which unit. A unit is a stream, a topic or a
// partition, and moves as a whole. The package is a function of its inputs. The caller passes in
// clocks, randomness and the answers of the store. It carries out the requests that come out.
//
// The store holds three kinds of records. All of them change by compare-and-set only.
//
//	member/NAME   a lease, for each life of each member: one renewal keeps all its units
//	unit/UNIT     who owns the unit, and the term: a number that grows with each owner
//	state/UNIT    what a successor needs, and the term of its writer
//
// Why no two members act as owner:
//
//  1. A lease is over when some member has marked it so. It may when the record did not change for the
//     lease's length by its own clock. The mark is a compare-and-set: a renewal meanwhile defeats it,
//     and after it every renewal fails. So no two machines' clocks are compared.
//  2. A unit changes hands only if its owner released it, or if the owner's lease is over. The change is a
//     compare-and-set on the record that names this owner. So a stale read makes a member slower, not wrong.
//  3. A member counts its lease from before it sent the renewal, and an observer from after it saw that. The
//     member stops a tenth of the lease earlier, for clocks of other rates.
//  4. A new owner writes its term into the state before all else. From then on every write of the owner
//     before it fails.
//
// (Gray and Cheriton, Leases, SOSP 1989, has 3. For 4: Kleppmann, How to do distributed locking, 2016.)
//
// A request may take effect long after its sender gave it up. So a lost reply is never taken for a failure:
// the member reads the record, and the record counts. There is one bound. A request takes effect within
// graveLeases leases, or never: after that time the marks of ended leases are removed.
package group
