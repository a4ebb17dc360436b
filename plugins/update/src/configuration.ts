import { type Static, Type } from '@nodekeep/plugin-sdk'

/** The section `update` of the configuration. */
export const configuration = Type.Object({
  automatic: Type.Boolean({
    default: false,
    description:
      'Whether a new version is installed as soon as the daily check finds it. One that has failed on trial or was left before, or after which there is no way back, is left to a person.',
  }),
  drainSeconds: Type.Integer({
    default: 300,
    minimum: 0,
    maximum: 86_400,
    description:
      'Maximum time for running requests, such as uploads, to end before an update refuses them, in seconds.',
  }),
  patience: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: 'The former name of `drainSeconds`. It wins over the new name.',
    }),
  ),
})

/** The configuration of updates. */
export type UpdateConfiguration = Static<typeof configuration>
