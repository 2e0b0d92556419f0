// All records of a run, and the state after any of them.
//
// A snapshot of the state is kept at regular distances, so that the state after any record is
// reached from a snapshot in few steps.

import { begin, copy, take, type State } from "./reducer";
import { slim, type Rec } from "./record";

const EVERY = 500;

export class History {
  readonly records: Rec[] = [];
  private readonly marks: State[] = [];
  private readonly head = begin();
  private seen: State | undefined; // the last place that was asked for

  get live(): State {
    return this.head;
  }

  get first(): number {
    return this.records.length > 0 ? this.records[0].seq : 1;
  }

  get last(): number {
    return this.head.seq;
  }

  // False when the record is a repeat, or does not follow the last one.
  add(rec: Rec): boolean {
    const kept = slim(rec);
    if (!take(this.head, kept)) return false;
    this.records.push(kept);
    if (this.records.length % EVERY === 0) this.marks.push(copy(this.head));
    return true;
  }

  // The state after record @seq; continues from the last state that was asked for, if that is earlier.
  at(seq: number): State {
    const wanted = Math.max(0, Math.min(seq - this.first + 1, this.records.length)); // records to take
    if (wanted === this.records.length) return this.head;
    const mark = Math.floor(wanted / EVERY);
    let state = this.seen;
    let done = state ? state.seq - this.first + 1 : 0;
    if (!state || state.seq === 0 || done > wanted || done < mark * EVERY) {
      state = mark > 0 ? copy(this.marks[mark - 1]) : begin();
      done = mark * EVERY;
    }
    for (; done < wanted; done++) take(state, this.records[done]);
    this.seen = state;
    return state;
  }
}
