import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordDiskSteps } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { RecordFile } from '../../src/state/update-record.ts'

test('a note is in the record at once, and in the file as soon as that can be written', async (t) => {
  const folder = join(t.testdir(), 'own')
  writeFileSync(folder, 'Nothing can be stored.')
  const stopping = new AbortController()
  t.teardown(() => stopping.abort())
  const lines: unknown[] = []
  const log = { warn: (line: unknown) => void lines.push(line) }
  const path = join(folder, 'update.json')
  const file = new RecordFile(path, log, stopping.signal, 1)
  await t.rejects(file.change({ withoutWayBack: '1.0.0' }))
  await file.note({ withoutWayBack: '1.1.0' })
  t.equal(file.record.withoutWayBack, '1.1.0')
  t.match(lines, [{ err: { code: 'EEXIST' } }])
  rmSync(folder)
  mkdirSync(folder)
  while (!existsSync(path)) await new Promise(setImmediate)
  // After the write before it.
  await file.change({ withoutWayBack: '1.1.0' })
  t.match(JSON.parse(readFileSync(path, 'utf8')), { withoutWayBack: '1.1.0' })
})

const onLinux = process.platform === 'linux' ? {} : { skip: 'reads /proc' }

test('a change is on the disk when it ends, also its name and the folder', onLinux, async (t) => {
  const folder = t.testdir()
  const { signal } = new AbortController()
  const path = join(folder, 'own', 'update.json')
  const file = new RecordFile(path, { warn: () => {} }, signal)
  using steps = await recordDiskSteps()
  await file.change({ withoutWayBack: '1.1.0' })
  t.strictSame(steps.list, [
    `sync ${folder}`,
    `sync ${path}.new`,
    `rename ${path}`,
    `sync ${join(folder, 'own')}`,
  ])
})
