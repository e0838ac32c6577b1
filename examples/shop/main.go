// Command shop is a small web shop on PostgreSQL, captured: see docs/capture.md.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/capture/rows"
)

var stock = rows.Table{Name: "stock", Key: "product", Columns: []string{"n"}, Version: rows.XMin}
var orders = rows.Table{Name: "orders", Key: "id", Columns: []string{"product", "quantity"}, Version: rows.XMin}

var (
	errSoldOut   = errors.New("not as many are left")
	errNoProduct = errors.New("no such product")
)

type shop struct{ pool *pgxpool.Pool }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. DATABASE_URL and LISTEN say where.
func run(ctx context.Context) error {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	sink, err := capture.File(os.Getenv("CAPTURE_FILE"), 64<<20, 4)
	if err != nil {
		return err
	}
	recorder, err := capture.New(sink, "shop", capture.WithKey([]byte(os.Getenv("CAPTURE_KEY"))))
	if err != nil {
		return err
	}
	defer recorder.Close(context.Background())
	config.ConnConfig.Tracer = capturepgx.New(recorder)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	listener, err := net.Listen("tcp", os.Getenv("LISTEN"))
	if err != nil {
		return err
	}
	fmt.Println("listening", listener.Addr())
	s := &shop{pool}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		s.postOrder(capture.WithSession(r.Context(), recorder.Session("request")), w, r)
	})
	server := &http.Server{Handler: mux}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background())
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// postOrder takes product and quantity, and answers with the id of the order.
func (s *shop) postOrder(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	quantity, err := strconv.Atoi(r.FormValue("quantity"))
	if err != nil || quantity < 1 {
		http.Error(w, "quantity is a number from 1 on", http.StatusBadRequest)
		return
	}
	id, err := s.order(ctx, r.FormValue("product"), quantity)
	switch {
	case errors.Is(err, errSoldOut), errors.Is(err, errNoProduct):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		fmt.Fprintln(w, id)
	}
}

// order takes the quantity out of the stock, and notes the order. It relies on an
// isolation that PostgreSQL does not have by default: the stock that was read is written back.
func (s *shop) order(ctx context.Context, product string, quantity int) (id string, err error) {
	id = rand.Text()
	return id, s.retried(ctx, func(tx pgx.Tx) error {
		var left int
		found, err := stock.Get(ctx, capturepgx.Rows(tx), product, &left)
		if err == nil && !found {
			return errNoProduct
		}
		if err != nil {
			return err
		}
		if left < quantity {
			return errSoldOut
		}
		if _, err := stock.Update(ctx, capturepgx.Rows(tx), product, left-quantity); err != nil {
			return err
		}
		return orders.Insert(ctx, capturepgx.Rows(tx), id, product, quantity)
	})
}

// retried runs f in a transaction, again as long as the database refuses it because of
// another one.
func (s *shop) retried(ctx context.Context, f func(tx pgx.Tx) error) error {
	for {
		err := pgx.BeginFunc(ctx, s.pool, f)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "40001" && refused.Code != "40P01" {
			return err
		}
	}
}
