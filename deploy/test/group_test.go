package deploytest

import (
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

func groupValues(more map[string]any) map[string]any {
	g := map[string]any{"name": "shop", "state": "s3://b/p", "replicas": 4}
	for k, v := range more {
		g[k] = v
	}
	return map[string]any{"group": g}
}

// TestGroupedPods: a group sets how many pods there are, all have one file of configuration, and none has a claim of a volume.
func TestGroupedPods(t *testing.T) {
	all := objects(t, groupValues(nil))
	set := find[*appsv1.StatefulSet](t, all)
	if *set.Spec.Replicas != 4 || len(set.Spec.VolumeClaimTemplates) != 0 {
		t.Errorf("%d replicas with %d claims", *set.Spec.Replicas, len(set.Spec.VolumeClaimTemplates))
	}
	args := strings.Join(set.Spec.Template.Spec.Containers[0].Args, " ")
	if !strings.Contains(args, "--config=/etc/isowatch/config/group.yaml --group-member=$(POD_NAME)") {
		t.Errorf("arguments %s", args)
	}
	data := find[*corev1.ConfigMap](t, all).Data
	if text := data["group.yaml"]; len(data) != 1 || !strings.Contains(text, "state: s3://b/p") || strings.Contains(text, "self-test") {
		t.Errorf("configuration %v", data)
	}
	if p := find[*policyv1.PodDisruptionBudget](t, all).Spec; p.MaxUnavailable.IntValue() != 1 || !maps.Equal(p.Selector.MatchLabels, set.Spec.Selector.MatchLabels) {
		t.Errorf("the disruption budget is %+v, of the pods %v", p, set.Spec.Selector.MatchLabels)
	}
	scaled := find[*appsv1.StatefulSet](t, objects(t, groupValues(map[string]any{"autoscaling": map[string]any{"enabled": true}})))
	if scaled.Spec.Replicas != nil {
		t.Errorf("the autoscaler and the set both say how many pods there are: %d", *scaled.Spec.Replicas)
	}
}

// TestGroupStandsStill: other levels or inputs need an upgrade to no pods, and then one with the new settings.
func TestGroupStandsStill(t *testing.T) {
	still := groupValues(map[string]any{"replicas": 0, "autoscaling": map[string]any{"enabled": false}})
	if n := find[*appsv1.StatefulSet](t, objects(t, still)).Spec.Replicas; n == nil || *n != 0 {
		t.Errorf("replicas %v, want none", n)
	}
}

// TestGroupIsChecked: what cannot work is an error that says what to do.
func TestGroupIsChecked(t *testing.T) {
	both := groupValues(nil)
	both["shards"] = []any{map[string]any{}}
	for want, v := range map[string]map[string]any{
		"shards and group": both,
		"group.state":      {"group": map[string]any{"name": "shop"}},
		"state":            groupValues(map[string]any{"state": "file:///x"}),
		"replicas":         groupValues(map[string]any{"replicas": -1}),
	} {
		if _, err := render(t, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v does not name %s", v, err, want)
		}
	}
}
