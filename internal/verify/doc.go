// Package verify says whether a witness is a contradiction, by the operations recorded in it
// alone. A person can check an accepted witness with the printed operations. It shares no code
// with the packages that infer, search, name or explain, and imports data only: records and findings.
package verify
