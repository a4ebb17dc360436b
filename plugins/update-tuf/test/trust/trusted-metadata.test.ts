import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordDiskSteps } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { TrustedMetadata } from '../../src/trust/trusted-metadata.ts'

const root = Buffer.from('{"signed":{"_type":"root"}}')

test('a part of a file, which a full disk has left, never replaces what the node has seen', async (t) => {
  const folder = t.testdir({})
  const metadata = new TrustedMetadata(folder)
  const write = (copy: string, content: string) => writeFileSync(join(copy, 'timestamp.json'), content)
  await metadata.update(root, async (copy) => write(copy, '{"signed":{"version":7}}'), [])
  const full = new Error('ENOSPC: no space left on device')
  for (const part of ['', '{"signed":{"vers']) {
    const writing = metadata.update(
      root,
      async (copy) => {
        write(copy, part)
        throw full
      },
      [],
    )
    await t.rejects(writing, full)
    t.equal(readFileSync(join(folder, 'metadata/timestamp.json'), 'utf8'), '{"signed":{"version":7}}')
  }
})

test('what the node has seen is on the disk with its names when an update ends', {
  skip: process.platform !== 'linux' && 'reads /proc',
}, async (t) => {
  const folder = t.testdir({})
  const metadata = new TrustedMetadata(folder)
  using steps = await recordDiskSteps()
  await metadata.update(
    root,
    async (copy) => writeFileSync(join(copy, 'timestamp.json'), '{"signed":{}}'),
    [],
  )
  for (const [file, parent] of [
    ['metadata/timestamp.json', 'metadata'],
    ['known-roots.json', '.'],
  ] as const) {
    const renamed = steps.list.lastIndexOf(`rename ${join(folder, file)}`)
    t.ok(renamed >= 0 && steps.list.includes(`sync ${join(folder, parent)}`, renamed), file)
  }
})
