package kafka_test

import (
	"crypto/tls"
	"log"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/plain"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/kafka"
)

func Example() {
	sink, err := kafka.New(kafka.Options{
		Brokers: []string{"kafka.example:9093"}, Topic: "isowatch-shop",
		Transport: &kafkago.Transport{TLS: &tls.Config{}, SASL: plain.Mechanism{Username: "capture", Password: "secret"}},
	})
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
