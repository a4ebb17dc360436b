import { type ChatFinishReason, type ChatReply, GatheredText, type ReplyDelta } from '@nodekeep/plugin-sdk'
import { replyHead, wireUsage } from './reply-head.ts'

/** Gathers a reply into one `chat.completion`. */
export async function completion(reply: ChatReply): Promise<string> {
  const text = new GatheredText()
  const calls: GatheredCall[] = []
  let finish: ChatFinishReason = 'stop'
  let usage: ReturnType<typeof wireUsage> | undefined
  for await (const delta of reply.deltas) {
    if (delta.type === 'text') text.add(delta.text)
    else if (delta.type === 'tool_call') addToCall(calls, delta)
    else if (delta.type === 'usage') usage = wireUsage(delta)
    else finish = delta.reason
  }
  const content = text.toString()
  const message = {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    // A provider may leave places between its calls empty.
    ...(calls.length === 0 ? {} : { tool_calls: calls.filter(() => true).map(wireCall) }),
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finish }
  const head = replyHead(reply)
  return JSON.stringify({ ...head, object: 'chat.completion', choices: [choice], usage })
}

interface GatheredCall {
  id: string
  name: string
  readonly text: GatheredText
}

function addToCall(calls: GatheredCall[], delta: ReplyDelta & { type: 'tool_call' }): void {
  calls[delta.index] ??= { id: '', name: '', text: new GatheredText() }
  const call = calls[delta.index] as GatheredCall
  if (delta.id !== undefined) call.id = delta.id
  if (delta.name !== undefined) call.name = delta.name
  call.text.add(delta.arguments ?? '')
}

function wireCall({ id, name, text }: GatheredCall) {
  return { id, type: 'function', function: { name, arguments: text.toString() } }
}
