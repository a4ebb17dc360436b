import { AiProviders, definePlugin, Type } from '@nodekeep/plugin-sdk'
import { cancellableReply, modelServerError } from '@nodekeep/plugin-sdk/model-servers'

export default definePlugin({
  id: 'ai-acme',
  config: Type.Object({ url: Type.String({ default: 'http://127.0.0.1:8600' }) }),
  contributes: { providers: AiProviders },
  setup({ id, config, providers }) {
    const name = id.replace(/^ai-/, '')
    async function* ask(path: string, init: RequestInit) {
      try {
        const { ok, status, headers, body } = await fetch(config.url + path, { ...init, redirect: 'error' })
        if (!ok) throw modelServerError(name, { status, retryAfter: headers.get('retry-after') })
        let rest = ''
        for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) yield JSON.parse(line)
        }
        throw new Error('The answer ends without its last line.')
      } catch (cause) {
        throw modelServerError(name, { cause })
      }
    }
    providers.add(name, {
      async models(signal) {
        for await (const { models } of ask('/models', { signal })) return models
      },
      chat: (request, signal) =>
        cancellableReply(signal, async function* (signal) {
          const init = { method: 'POST', body: JSON.stringify(request), signal }
          for await (const { thought, text = thought, tokens, end } of ask('/chat', init)) {
            if (text) yield { type: thought ? 'reasoning' : 'text', text }
            if (tokens) yield { type: 'usage', inputTokens: tokens.read, outputTokens: tokens.written }
            if (end) return yield { type: 'finish', reason: end }
          }
        }),
    })
  },
})
