import { AiProviders, type ChatFinishReason, definePlugin, Type } from '@nodekeep/plugin-sdk'
import {
  cancellableReply,
  errorText,
  modelNames,
  modelServerError,
  readJsonLines,
} from '@nodekeep/plugin-sdk/model-servers'

const maxLineBytes = 1024 * 1024

export default definePlugin({
  id: 'ai-acme',
  config: Type.Object({ url: Type.String({ default: 'http://127.0.0.1:8600' }) }),
  contributes: { providers: AiProviders },
  setup({ id, config, providers }) {
    const name = id.replace(/^ai-/, '')
    async function* ask(path: string, init: RequestInit) {
      const server = { address: config.url, setting: `${id}.url` }
      try {
        const { ok, status, headers, body } = await fetch(config.url + path, { ...init, redirect: 'manual' })
        if (!ok) {
          const message = await errorText(body)
          throw modelServerError(name, { status, message, retryAfter: headers.get('retry-after') })
        }
        yield* readJsonLines<AcmeLine>(body ?? [], maxLineBytes)
        throw new Error('The answer ends without its last line.')
      } catch (cause) {
        throw modelServerError(name, { ...server, cause })
      }
    }
    providers.add(name, {
      async models(signal) {
        for await (const { models = [] } of ask('/models', { signal })) return modelNames(models)
        return []
      },
      chat: (request, signal) =>
        cancellableReply(signal, async function* (signal) {
          const init = { method: 'POST', body: JSON.stringify(request), signal }
          for await (const { thought, text = '', tokens, end, error } of ask('/chat', init)) {
            if (error !== undefined) throw modelServerError(name, { status: 500 })
            if (thought) yield { type: 'reasoning', text: thought }
            if (tokens) yield { type: 'usage', inputTokens: tokens.read, outputTokens: tokens.written }
            if (end) return yield { type: 'finish', reason: end }
            // A line that adds nothing becomes an empty text, so that the feature can count it.
            yield { type: 'text', text }
          }
        }),
    })
  },
})

/** A line of an answer, as the README describes it. */
interface AcmeLine {
  readonly models?: readonly string[]
  readonly thought?: string
  readonly text?: string
  readonly tokens?: { readonly read: number; readonly written: number }
  readonly end?: ChatFinishReason
  readonly error?: string
}
