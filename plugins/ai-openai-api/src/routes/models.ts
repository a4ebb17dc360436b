import { type AiChatService, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { unknownModel } from '../wire/model-name.ts'

/** "The model object" of OpenAI's API reference. */
const model = Type.Object({
  id: Type.String({ description: 'Provider and model, such as "openai/gpt-5".' }),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String({ description: 'The provider.' }),
})

/** Registers `GET /models` and `GET /models/:model` ("Models" of OpenAI's API reference). */
export function modelRoutes(app: RoutesApp, chats: AiChatService): void {
  const all = async () => {
    const lists = await chats.models()
    return Object.entries(lists).flatMap(([provider, models]) =>
      models.map((name) => ({
        id: `${provider}/${name}`,
        object: 'model' as const,
        // The time is unknown, but clients expect a number.
        created: 0,
        owned_by: provider,
      })),
    )
  }
  const config = { scope: 'ai' }
  const list = {
    operationId: 'listModels',
    summary: "List all models, in OpenAI's protocol",
    response: { 200: Type.Object({ object: Type.Literal('list'), data: Type.Array(model) }) },
  }
  app.get('/models', { config, schema: list }, async () => ({ object: 'list' as const, data: await all() }))
  // The name has slashes, which some clients escape.
  const schema = {
    operationId: 'retrieveModel',
    summary: "Describe one model, in OpenAI's protocol",
    params: Type.Object({ '*': Type.String({ maxLength: 1024, description: 'The `id` of the model.' }) }),
    response: { 200: model },
  }
  app.get('/models/*', { config, schema }, async (request) => {
    const id = request.params['*']
    const found = (await all()).find((one) => one.id === id)
    if (found !== undefined) return found
    throw unknownModel(id)
  })
}
