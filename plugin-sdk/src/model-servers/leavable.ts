import type { ChatDelta } from '../contracts/ai.ts'

/**
 * A reply whose call ends at once when its loop is left, as the contract of AI providers wants it. A generator alone
 * would first wait for the piece that it was asked for, which may never come.
 *
 * @param signal that of the chat
 * @param read makes the call, and ends it when its signal aborts: with the reason of the chat's signal, or because the
 * loop was left
 *
 * @example
 * chat(request, signal) {
 *   return leavable(signal, (ending) => this.#reply(request, ending))
 * }
 */
export function leavable(
  signal: AbortSignal,
  read: (signal: AbortSignal) => AsyncGenerator<ChatDelta>,
): AsyncIterable<ChatDelta> {
  return {
    [Symbol.asyncIterator]() {
      // Not by `AbortSignal.any`, which costs more than the rest of a short reply.
      const ending = new AbortController()
      const end = () => ending.abort(signal.reason)
      const over = () => signal.removeEventListener('abort', end)
      if (signal.aborted) end()
      else signal.addEventListener('abort', end)
      const deltas = read(ending.signal)
      return {
        next() {
          const piece = deltas.next()
          piece.then(({ done }) => done && over(), over)
          return piece
        },
        return() {
          over()
          ending.abort(new Error('Nobody wants the rest of the reply.'))
          return deltas.return(undefined)
        },
      }
    },
  }
}
