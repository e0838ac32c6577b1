package probe

import (
	"encoding/json"
	"fmt"
)

// balance is the balance of an account as a value. The id of the transaction that wrote it
// makes the value unique.
type balance struct {
	N  int64  `json:"n"`
	By string `json:"by"`
}

func (b balance) text() string {
	data, err := json.Marshal(b)
	if err != nil {
		panic(err) // a number and a text
	}
	return string(data)
}

// bankAccount is the key of an account.
func bankAccount(n int) string { return fmt.Sprintf("b%03d", n) }

func fillBank(tx *Tx, keys int) {
	for n := range keys {
		tx.upsert(bankAccount(n), balance{opening, tx.id}.text())
	}
}

// balance is the balance of an account.
func (tx *Tx) balance(key string) (b balance) {
	value, found := tx.read(key)
	if found && tx.err == nil {
		tx.err = json.Unmarshal([]byte(value), &b)
	}
	return b
}

// bank moves money between accounts, whose total stays what it is.
func bank() []template {
	return []template{
		{5, "transfer", computes, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			amount := 1 + c.rng.Int64N(opening/2)
			return func(tx *Tx) {
				from, to := tx.balance(bankAccount(a)), tx.balance(bankAccount(b))
				if from.N < amount {
					return
				}
				tx.update(bankAccount(a), balance{from.N - amount, tx.id}.text())
				tx.update(bankAccount(b), balance{to.N + amount, tx.id}.text())
			}
		}},
		{1, "total", looks, func(c *client) func(*Tx) {
			return func(tx *Tx) {
				for n := range c.o.Keys {
					tx.read(bankAccount(n))
				}
			}
		}},
		{2, "look", looks, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(bankAccount(a))
				tx.read(bankAccount(b))
			}
		}},
	}
}
