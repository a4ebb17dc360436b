import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { ModelLists } from '../model-lists.ts'

const states = Type.Object({
  providers: Type.Array(
    Type.Object({
      name: Type.String(),
      state: Type.Union(
        [Type.Literal('works'), Type.Literal('empty'), Type.Literal('failed'), Type.Literal('waiting')],
        {
          description:
            '`empty`: it has no models, such as without a key. `failed`: see `problem`. `waiting`: it has not answered yet.',
        },
      ),
      models: Type.Integer({ description: 'The number of its models.' }),
      problem: Type.Union([Type.String(), Type.Null()], {
        description: 'Why it did not list its models, and what the owner can do; null if it did.',
      }),
    }),
  ),
})

/** Registers `GET /api/ai/providers`: whether each provider works, for the owner. No key is in the answer. */
export function providersRoute(app: RoutesApp, models: ModelLists): void {
  const schema = {
    operationId: 'listAiProviders',
    summary: 'Tell whether each AI provider works',
    response: { 200: states },
  }
  app.get('/api/ai/providers', { config: { access: 'owner' }, schema }, async () => ({
    providers: await models.states(),
  }))
}
