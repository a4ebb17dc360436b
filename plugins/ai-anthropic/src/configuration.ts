import { Secret, Type } from '@nodekeep/plugin-sdk'

/** The address of Anthropic's own API. */
export const anthropicBaseURL = 'https://api.anthropic.com'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  apiKey: Type.Optional(
    Secret({
      maxLength: 512,
      // Blanks around the key are removed.
      format: 'api-key',
      description: 'The API key. Without one, or with an empty one, there are no models.',
    }),
  ),
  baseURL: Type.String({
    default: anthropicBaseURL,
    maxLength: 2048,
    description: 'The address of the API, without "/v1".',
  }),
})
