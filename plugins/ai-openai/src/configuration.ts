import { Secret, type Static, Type } from '@nodekeep/plugin-sdk'

/** The address of OpenAI's own API. */
export const openaiBaseURL = 'https://api.openai.com/v1'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  apiKey: Type.Optional(
    Secret({
      maxLength: 4096,
      // Blanks around the key are removed.
      format: 'api-key',
      description: 'The API key. It may be empty for servers that need none.',
    }),
  ),
  baseURL: Type.String({
    default: openaiBaseURL,
    maxLength: 2048,
    description: 'The address of the API with its version, such as "http://127.0.0.1:1234/v1".',
  }),
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
      maxItems: 1000,
      description: 'The models to list. Without this key, the node asks the server.',
    }),
  ),
  tokenLimitField: Type.Union(
    [Type.Literal('auto'), Type.Literal('max_tokens'), Type.Literal('max_completion_tokens')],
    {
      default: 'auto',
      description:
        'The field for the longest reply. "auto" is max_completion_tokens for OpenAI and max_tokens for other servers.',
    },
  ),
})

export type Configuration = Static<typeof configuration>
