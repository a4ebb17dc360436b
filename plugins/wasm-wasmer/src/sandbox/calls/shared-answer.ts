/** A call from a thread to the main thread, which writes its answer into `answer`. */
export interface Call {
  readonly mount: number
  readonly method: string
  readonly args: readonly unknown[]
  readonly answer: SharedArrayBuffer
}

/** The result of a call, or the code of its error. */
type Outcome = { readonly value: unknown } | { readonly error: string }

/** The channel of calls, among the threads of this process. */
export const callChannel = 'nodekeep-calls'

/** Bytes of an answer, unless it needs more: the SDK reads 64 KiB at a time. */
export const usualAnswerBytes = 8 + 72 * 1024

const state = 0
const size = 1
const waiting = 0
const asJson = 1
const asBytes = 2
/** The buffer is too small; `size` says how many bytes the answer needs. */
const tooLong = 3

/** Writes an answer, and wakes the thread that waits for it. */
export function writeAnswer(answer: SharedArrayBuffer, outcome: Outcome): void {
  const isBytes = 'value' in outcome && outcome.value instanceof Uint8Array
  const bytes = isBytes ? (outcome.value as Uint8Array) : Buffer.from(JSON.stringify(outcome))
  const head = new Int32Array(answer, 0, 2)
  const fits = bytes.length <= answer.byteLength - 8
  if (fits) new Uint8Array(answer, 8).set(bytes)
  head[size] = bytes.length
  Atomics.store(head, state, fits ? (isBytes ? asBytes : asJson) : tooLong)
  Atomics.notify(head, state)
}

/** Makes a buffer ready for an answer. */
export function emptyAnswer(answer: SharedArrayBuffer): SharedArrayBuffer {
  Atomics.store(new Int32Array(answer, 0, 2), state, waiting)
  return answer
}

/** Waits for an answer. Returns the bytes that it needs if the buffer is too small. */
export function awaitAnswer(answer: SharedArrayBuffer): Outcome | number {
  const head = new Int32Array(answer, 0, 2)
  while (Atomics.load(head, state) === waiting) Atomics.wait(head, state, waiting)
  const length = head[size] ?? 0
  if (head[state] === tooLong) return length
  const bytes = new Uint8Array(answer, 8, length).slice()
  return head[state] === asBytes ? { value: bytes } : (JSON.parse(new TextDecoder().decode(bytes)) as Outcome)
}
