// Package verify says whether a witness is a contradiction, by the operations recorded in
// it and nothing else: what it accepts a person can check with the printed operations. It
// shares no code with what infers, searches, names or explains.
package verify
