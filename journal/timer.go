package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Alarm is a timer as it is armed: the journal holds it until it is due and then
// publishes a record of TypeTimer to its chat.
type Alarm struct {
	Chat botmesh.ChatKey
	// ID is unique among the chat's alarms, ever. Letters, digits, - and _ alone: it is
	// part of a subject.
	ID string
	At time.Time
}

// Arm sets an alarm. A nil error means that the journal holds it, for as long as it
// takes and whatever the journal's retention.
//
// It may be set again under the same id: before it is due that changes nothing;
// after it fired it fires again, and whoever runs its record must know it by its id.
// Errors are as of [Publisher.Publish], without repetition: botmesh.ErrRefused,
// botmesh.ErrUnknown.
func (j *Journal) Arm(ctx context.Context, a Alarm) error {
	m, err := encode(j.bot, botmesh.Record{Type: botmesh.TypeTimer, ID: "timer:" + a.ID, Timer: a.ID, Chat: a.Chat})
	if err != nil {
		return err
	}
	target := m.Subject
	m.Subject = timerSubject(j.bot, a)
	if _, err := j.inbox.Publish(ctx, jet.Publish{Msg: m, Schedule: &jet.Schedule{At: a.At, Target: target}}); err != nil {
		return fmt.Errorf("journal: arm %s of %s: %w", a.ID, a.Chat.Key(), err)
	}
	return nil
}

// Disarm takes an alarm back that has not fired. An error leaves open whether it
// fires: whoever runs its record must know that it is armed no more.
func (j *Journal) Disarm(ctx context.Context, a Alarm) error {
	if err := j.inbox.Purge(ctx, timerSubject(j.bot, a)); err != nil {
		return fmt.Errorf("journal: disarm %s of %s: %w", a.ID, a.Chat.Key(), err)
	}
	return nil
}

func timerSubject(bot string, a Alarm) string {
	return subjectOf(familyTimer, bot, a.Chat) + "." + a.ID
}
