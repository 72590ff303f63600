// Round trips between two clocks.
#include "comm/remote_clock.hpp"

#include <cmath>
#include <limits>

namespace linkscope {
namespace {

constexpr int rounds = 64;

}  // namespace

Outcome ask_clock(Channel& channel, const ReadClock& own, Sharing sharing, Deadline deadline,
                  ClockOffset& offset) {
  ClockOffset best{0, std::numeric_limits<Seconds>::infinity()};
  for (int round = 0; round < rounds; ++round) {
    const Seconds asked = own();
    Outcome outcome = channel.send({FrameKind::clock_question, 0, 0, {}}, deadline);
    if (outcome != Outcome::done) return outcome;
    Frame answer;
    outcome = channel.receive(answer, deadline);
    const Seconds heard = own();
    if (outcome != Outcome::done) return outcome;
    if (answer.kind != FrameKind::clock_answer) return Outcome::garbled;
    const Seconds half = (heard - asked) / 2;
    if (half < best.uncertainty) best = {answer.moment - asked - half, half};
  }
  offset = sharing == Sharing::possible && std::abs(best.seconds) <= best.uncertainty ? ClockOffset{} : best;
  return channel.send({FrameKind::clock_set, 0, offset.uncertainty, {}}, deadline);
}

Outcome answer_clock(Channel& channel, const ReadClock& own, Deadline deadline, Seconds& uncertainty) {
  for (;;) {
    Frame question;
    const Outcome outcome = channel.receive(question, deadline);
    if (outcome != Outcome::done) return outcome;
    if (question.kind == FrameKind::clock_set) {
      uncertainty = question.moment;
      return Outcome::done;
    }
    if (question.kind != FrameKind::clock_question) return Outcome::garbled;
    const Outcome answered = channel.send({FrameKind::clock_answer, 0, own(), {}}, deadline);
    if (answered != Outcome::done) return answered;
  }
}

}  // namespace linkscope
