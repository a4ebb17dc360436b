import { Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  defaultProvider: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        'Provider that is asked for models which are named without one and which no list has, such as "openai".',
    }),
  ),
  maxBodyBytes: Type.Integer({
    default: 10 * 1024 * 1024,
    minimum: 1024,
    maximum: 1024 * 1024 * 1024,
    description: 'Largest request in bytes: the conversation with its images.',
  }),
  heartbeatSeconds: Type.Number({
    default: 15,
    minimum: 0.01,
    maximum: 3600,
    description: 'How often a streamed answer shows a sign of life while the model is silent, in seconds.',
  }),
})
