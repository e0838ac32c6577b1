package alert

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestClose(t *testing.T) {
	t.Run("delivers what is there", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			outbox := &memory{}
			sink := newRecorder("s", nil)
			d := start(t, outbox, Options{}, sink)
			synctest.Wait()
			outbox.add(certain("a")...) // committed, but not yet notified of
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			sink.want(t, "0s: a")
		})
	})
	t.Run("does not wait out a delay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			outbox := &memory{}
			outbox.add(certain("a")...)
			sink := newRecorder("s", failTimes(9, errDown))
			d := start(t, outbox, Options{FirstDelay: time.Hour}, sink)
			synctest.Wait()
			began := time.Now()
			if err := d.Close(); err != nil || time.Since(began) != 0 {
				t.Errorf("Close = %v after %v", err, time.Since(began))
			}
			if err := d.Close(); err != nil {
				t.Errorf("second Close = %v", err)
			}
		})
	})
	t.Run("cuts a slow sink off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			outbox := &memory{}
			outbox.add(certain("a")...)
			sink := newRecorder("s", func(ctx context.Context, _ []Delivery) error {
				<-ctx.Done()
				return ctx.Err()
			})
			var logged bytes.Buffer
			d := start(t, outbox, Options{CloseTimeout: 2 * time.Second, Log: slog.New(slog.NewTextHandler(&logged, nil))}, sink)
			synctest.Wait()
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			sink.want(t, "0s: a: context canceled")
			if text := logged.String(); strings.Contains(text, "WARN") || !strings.Contains(text, "delivery failed") {
				t.Errorf("the end itself is told as a failure: %s", text)
			}
			if outbox.cursors["s"] != 0 {
				t.Error("what was not delivered does not come again")
			}
		})
	})
	t.Run("names a sink that hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			outbox := &memory{}
			outbox.add(certain("a")...)
			release := make(chan struct{})
			stuck := newRecorder("stuck", func(context.Context, []Delivery) error { <-release; return nil })
			d := start(t, outbox, Options{}, newRecorder("fine", nil), stuck)
			synctest.Wait()
			began := time.Now()
			err := d.Close()
			if err == nil || !strings.Contains(err.Error(), "stuck") || strings.Contains(err.Error(), "fine") {
				t.Errorf("Close = %v, want the name of the stuck sink", err)
			}
			if took := time.Since(began); took != 6*time.Second {
				t.Errorf("Close took %v", took)
			}
			close(release)
		})
	})
}

func TestOutboxFailureIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{broken: errors.New("disk on fire")}
		outbox.add(certain("a")...)
		sink := newRecorder("s", nil)
		var logged bytes.Buffer
		d := start(t, outbox, Options{FirstDelay: 4 * time.Second, Log: slog.New(slog.NewTextHandler(&logged, nil))}, sink)
		synctest.Wait()
		outbox.Lock()
		outbox.broken = nil
		outbox.Unlock()
		time.Sleep(time.Minute)
		sink.want(t, "3s: a")
		if !strings.Contains(logged.String(), "disk on fire") {
			t.Errorf("log: %s", &logged)
		}
		d.Close()
	})
}

func TestSinksOfOneName(t *testing.T) {
	routes := []Route{{Sink: newRecorder("twin", nil)}, {Sink: newRecorder("twin", nil)}}
	if _, err := NewDispatcher(&memory{}, routes, Options{}); err == nil || !strings.Contains(err.Error(), "twin") {
		t.Errorf("NewDispatcher = %v, want an error that names them", err)
	}
}
