import { definePlugin, PreviewDecoders } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createPreviewNode, preview, put } from './fixtures/preview-node.ts'

const released = Promise.withResolvers<void>()

/** Decodes files that begin with "SLOW", as one red pixel, when the test says so. */
const slow = definePlugin({
  id: 'slow',
  contributes: { decoders: PreviewDecoders },
  setup({ decoders }) {
    decoders.add('slow', {
      recognizes: (head) => Buffer.from(head).toString('latin1', 0, 4) === 'SLOW',
      async decode() {
        await released.promise
        const pixels = { width: 1, height: 1, rgba: Uint8Array.of(255, 0, 0, 255) }
        return { width: 1, height: 1, pixels, exif: null }
      },
    })
  },
})

test('a user has a number of previews that wait', async (t) => {
  const node = await createPreviewNode({ plugins: [slow], config: { previews: { background: false } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (let file = 0; file < 68; file += 1) await put(ada, `/${file}`, Buffer.from(`SLOW${file}`))
  const refused = Promise.withResolvers<void>()
  const statuses: string[] = []
  const asked = Array.from({ length: 68 }, async (_, file) => {
    const answer = await preview(ada, `/${file}`)
    await answer.arrayBuffer()
    statuses.push(`${answer.status} ${answer.headers.get('retry-after')}`)
    if (statuses.length === 4) refused.resolve()
  })
  await refused.promise
  t.strictSame(new Set(statuses), new Set(['503 2']))
  released.resolve()
  await Promise.all(asked)
  t.strictSame(new Set(statuses.slice(4)), new Set(['200 null']))
})
