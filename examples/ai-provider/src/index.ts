import { AiProviders, definePlugin, Type } from '@nodekeep/plugin-sdk'
import { modelNames, modelServer } from '@nodekeep/plugin-sdk/model-servers'

/** Other reasons, also those that a later server may have, are a regular end. */
const reasons = ['length', 'tool_calls', 'content_filter'] as const

export default definePlugin({
  id: 'ai-acme',
  config: Type.Object({ url: Type.String({ default: 'http://127.0.0.1:8600' }) }),
  contributes: { providers: AiProviders },
  setup({ id, config: { url }, providers }) {
    const name = id.replace(/^ai-/, '')
    const server = modelServer({ name, url, setting: `${id}.url` })
    providers.add(name, {
      models: async (signal) =>
        modelNames((await server.json<{ models: string[] }>('/models', { signal })).models),
      chat: (request, signal) =>
        server.reply(request, signal, async function* (signal) {
          const ask = { body: request, model: request.model, signal }
          for await (const line of server.lines<AcmeLine>('/chat', ask)) {
            const { thought, text = '', tokens, end, error } = line
            if (error !== undefined) throw server.error({ status: 500, message: error })
            if (thought) yield { type: 'reasoning', text: thought }
            if (tokens) yield { type: 'usage', inputTokens: tokens.read, outputTokens: tokens.written }
            if (end) return yield { type: 'finish', reason: reasons.find((known) => known === end) ?? 'stop' }
            // A line that adds nothing becomes an empty text, so that the feature can count it.
            yield { type: 'text', text }
          }
        }),
    })
  },
})

/** A line of a reply, as the README describes it. */
interface AcmeLine {
  readonly thought?: string
  readonly text?: string
  readonly tokens?: { readonly read: number; readonly written: number }
  readonly end?: string
  readonly error?: string
}
