import { definePlugin, PreviewDecoders } from '@nodekeep/plugin-sdk'
import { HeicDecoder } from './heic-decoder.ts'

/** Contributes the decoder `heic` to the previews. */
export default definePlugin({
  id: 'previews-heic',
  description: 'Shows the photos of iPhones (HEIC).',
  contributes: { decoders: PreviewDecoders },
  setup({ log, decoders, onStop }) {
    const decoder = new HeicDecoder(log)
    onStop(() => decoder.stop())
    decoders.add('heic', decoder)
  },
})
