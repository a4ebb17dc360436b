import { type Static, Type } from '@nodekeep/plugin-sdk'

/** The section `update` of the configuration. */
export const configuration = Type.Object({
  automatic: Type.Boolean({
    default: false,
    description:
      'Whether a new version is installed as soon as the daily check finds it. One that has failed on trial or was left before, or after which there is no way back, is left to a person.',
  }),
  patience: Type.Integer({
    default: 300,
    minimum: 0,
    maximum: 86_400,
    description:
      'Seconds that an update waits for requests that run, such as uploads, before it refuses them.',
  }),
})

/** The configuration of updates. */
export type UpdateConfiguration = Static<typeof configuration>
