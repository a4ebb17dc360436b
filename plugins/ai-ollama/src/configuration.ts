import { Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  host: Type.String({
    default: 'http://127.0.0.1:11434',
    maxLength: 2048,
    description: 'The address of the Ollama server, with or without scheme and port.',
  }),
})
