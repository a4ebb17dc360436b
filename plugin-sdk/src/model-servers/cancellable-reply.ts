import type { ChatDelta } from '../contracts/ai.ts'

/**
 * Makes the reply of an AI provider from a generator. Leaving the loop over the reply ends the call at once, as the
 * contract requires. A plain generator would first wait for the piece it was asked for, which may never come.
 *
 * @param signal the signal of the chat
 * @param read makes the call. Its signal aborts when the chat's signal does, with the same reason, and when the loop is
 * left; the generator must then end the call. After the loop was left, errors of the generator are ignored: they come from
 * that abort, such as those of a `fetch`.
 *
 * @example
 * chat(request, signal) {
 *   return cancellableReply(signal, (signal) => this.#reply(request, signal))
 * }
 */
export function cancellableReply(
  signal: AbortSignal,
  read: (signal: AbortSignal) => AsyncGenerator<ChatDelta>,
): AsyncIterable<ChatDelta> {
  return {
    [Symbol.asyncIterator]() {
      // `AbortSignal.any` costs noticeably more for each chat.
      const call = new AbortController()
      const abort = () => call.abort(signal.reason)
      const unlink = () => signal.removeEventListener('abort', abort)
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort)
      const deltas = read(call.signal)
      let isLeft = false
      const end = { done: true, value: undefined } as const
      return {
        next() {
          return deltas.next().then(
            (step) => {
              if (step.done) unlink()
              return step
            },
            (error) => {
              unlink()
              if (isLeft) return end
              throw error
            },
          )
        },
        async return() {
          isLeft = true
          unlink()
          call.abort(new Error('The reader left the reply.'))
          await deltas.return(undefined).catch(() => {})
          return end
        },
      }
    },
  }
}
