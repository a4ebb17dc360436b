import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { accepted, Refusal } from '../../refusal.ts'
import * as texts from '../../texts.ts'
import type { SentMessage } from './attached-content.ts'

interface ReplyRequest {
  /** As `provider/model`. The name of a provider has no slash. */
  readonly model: string
  readonly messages: readonly SentMessage[]
  /** Stops the reply. */
  readonly signal: AbortSignal
}

/**
 * Yields the pieces of a reply, as the model writes them.
 *
 * @throws Refusal with the words of the node, or if the reply was cut short
 */
export async function* replyPieces(
  fetch: PageContext['fetch'],
  { model, messages, signal }: ReplyRequest,
): AsyncGenerator<string> {
  const [provider = ''] = model.split('/', 1)
  const answer = await fetch('/api/ai/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      provider,
      model: model.slice(provider.length + 1),
      messages,
      stream: true,
    }),
    signal,
  })
  const { body } = await accepted(answer)
  const events = body
    ?.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream())
    .getReader()
  for (;;) {
    const read = await events?.read()
    if (read?.value === undefined) throw new Refusal(0, texts.chat.cutShort)
    if (read.value.data === '[DONE]') return
    const { chunk, error, message } = JSON.parse(read.value.data) as {
      chunk: string
      error?: boolean
      message?: string
    }
    if (error) throw new Refusal(0, message ?? texts.chat.cutShort)
    yield chunk
  }
}
