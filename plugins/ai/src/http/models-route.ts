import {
  type AiChatService,
  type AiProvider,
  type RegistryReader,
  type RoutesApp,
  Type,
} from '@nodekeep/plugin-sdk'

const models = Type.Object({
  providers: Type.Record(Type.String(), Type.Array(Type.String()), {
    description: 'The models of each AI provider. The list is empty if the provider does not answer.',
  }),
})

const hosts = Type.Object({
  hosts: Type.Record(Type.String(), Type.String(), {
    description:
      'The host of the server of each AI provider that tells it, such as "127.0.0.1" or "api.openai.com".',
  }),
})

/** Registers `GET /api/ai/models` (interface, "AI endpoints"), and `GET /api/ai/hosts`: where messages to the models go. */
export function modelsRoute(
  app: RoutesApp,
  chats: AiChatService,
  providers: RegistryReader<AiProvider>,
): void {
  const schema = {
    operationId: 'listAiModels',
    summary: 'List the models of each provider',
    response: { 200: models },
  }
  app.get('/api/ai/models', { config: { scope: 'ai' }, schema }, async () => {
    const models = await chats.models()
    return { providers: models as Record<string, string[]> }
  })

  const describeHosts = {
    operationId: 'listAiHosts',
    summary: 'Tell on which host each provider runs',
    response: { 200: hosts },
  }
  app.get('/api/ai/hosts', { config: { scope: 'ai' }, schema: describeHosts }, async () => ({
    hosts: Object.fromEntries(
      [...providers].flatMap(([name, { host }]) => (typeof host === 'string' ? [[name, host]] : [])),
    ),
  }))
}
