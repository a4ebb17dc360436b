import { Type } from '@nodekeep/plugin-sdk'
import { acmeSettings, fileSettings } from './certificates/settings.ts'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  tls: Type.Optional(fileSettings),
  acme: Type.Optional(acmeSettings),
})
