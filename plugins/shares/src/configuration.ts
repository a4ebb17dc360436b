import { Type } from '@nodekeep/plugin-sdk'

/** The section `shares` of the configuration. */
export const configuration = Type.Object({
  maxDays: Type.Integer({
    default: 365,
    minimum: 1,
    maximum: 3650,
    description: 'Maximum number of days for which a link works.',
  }),
  linksPerUser: Type.Integer({
    default: 200,
    minimum: 1,
    maximum: 10_000,
    description: 'Maximum number of links of a user, with those that have ended.',
  }),
})
