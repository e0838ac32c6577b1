package nats_test

import (
	"log"

	natsgo "github.com/nats-io/nats.go"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/nats"
)

func Example() {
	conn, err := natsgo.Connect("tls://nats.example:4222", natsgo.UserCredentials("capture.creds"), natsgo.MaxReconnects(-1))
	if err != nil {
		log.Print(err)
		return
	}
	defer conn.Close() // after the recorder
	sink, err := nats.New(conn, "isowatch.shop")
	if err != nil {
		log.Print(err)
		return
	}
	recorder, err := capture.New(sink, "shop", capture.WithKey([]byte("the same in all processes")))
	if err != nil {
		log.Print(err)
		return
	}
	_ = recorder
}
