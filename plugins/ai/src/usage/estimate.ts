import type { ChatRequest } from '@nodekeep/plugin-sdk'

/** A rule of thumb for most languages and models, for where a provider does not say what it counted. */
const bytesOfAToken = 4

/** What a picture of usual size comes to with the large providers. */
const tokensOfAnImage = 1000

/** The tokens of a text, by its length in bytes of UTF-8. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesOfAToken)
}

/** The tokens that a provider reads for a request. */
export function tokensOfRequest({ messages, tools, json }: ChatRequest): number {
  let bytes = tools === undefined ? 0 : Buffer.byteLength(JSON.stringify(tools))
  if (json?.schema !== undefined) bytes += Buffer.byteLength(JSON.stringify(json))
  let images = 0
  for (const message of messages) {
    if (message.role === 'assistant' && message.toolCalls) {
      bytes += Buffer.byteLength(JSON.stringify(message.toolCalls))
    }
    for (const part of partsOf(message.content)) {
      if (part.type === 'text') bytes += Buffer.byteLength(part.text)
      else images += 1
    }
  }
  return tokensOfBytes(bytes) + images * tokensOfAnImage
}

function partsOf(content: ChatRequest['messages'][number]['content']) {
  return typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
}
