import { Secret, type Static, Type } from '@nodekeep/plugin-sdk'

/** The address of OpenAI's own API. */
export const openaiBaseURL = 'https://api.openai.com/v1'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  apiKey: Type.Optional(
    Secret({
      maxLength: 4096,
      // Blanks around it are cut off.
      format: 'api-key',
      description: 'The key. An empty one is none; servers of your own may need none.',
    }),
  ),
  baseURL: Type.String({
    default: openaiBaseURL,
    maxLength: 2048,
    description: 'Where the API answers, with its version, such as "http://127.0.0.1:1234/v1".',
  }),
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
      maxItems: 1000,
      description: 'The models to list. Without it, the server is asked.',
    }),
  ),
  tokenLimitField: Type.Union(
    [Type.Literal('auto'), Type.Literal('max_tokens'), Type.Literal('max_completion_tokens')],
    {
      default: 'auto',
      description:
        'How the longest reply is named to the server. "auto" is max_completion_tokens for OpenAI, else max_tokens.',
    },
  ),
})

export type Configuration = Static<typeof configuration>
