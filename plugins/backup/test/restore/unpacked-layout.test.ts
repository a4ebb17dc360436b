import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Test, test } from 'tap'
import { checkLayout } from '../../src/restore/unpacked-layout.ts'

const paths = [
  'backup.json',
  'SHA256SUMS',
  'manifest.json',
  'state/state.sqlite',
  'state/users.json',
  'state/plugins/files/journal.sqlite',
  'identity/node.key',
  'configuration/nodekeep.json',
  'files/local/11111111-1111-4111-8111-111111111111/a',
  'participant/anything',
]

/** Checks what was unpacked of a backup that somebody has changed. */
function checkWith(t: Test, change: (folder: string) => void = () => {}): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-layout-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of paths) put(folder, path)
  change(folder)
  return checkLayout(folder, 'backup.tar.gz', ['files/local'])
}

function put(folder: string, path: string): void {
  rmSync(join(folder, path), { recursive: true, force: true })
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), 'x')
}

test('the layout of a backup is accepted', async (t) => {
  await t.resolves(checkWith(t))
})

test('a part of another kind is refused', async (t) => {
  for (const path of ['identity/node.key', 'state/state.sqlite', 'state/users.json']) {
    const asFolder = (folder: string) => {
      rmSync(join(folder, path))
      mkdirSync(join(folder, path))
    }
    await t.rejects(checkWith(t, asFolder), {
      code: 'VALIDATION_ERROR',
      message: `The archive backup.tar.gz is no backup of a node: "${path}" is a folder.`,
    })
  }
  for (const path of [
    'identity',
    'configuration',
    'files',
    'files/local',
    'state/plugins',
    'state/plugins/files',
    'extra.txt',
  ]) {
    const message = new RegExp(`"${path}" is a file`)
    await t.rejects(
      checkWith(t, (folder) => put(folder, path)),
      { message },
    )
  }
})

test('what no backup has is refused, and a backup without a state', async (t) => {
  for (const path of [
    'state/other.sqlite',
    'state/plugins/files/cache/compiled.node',
    'state/plugins/files/restored-entries.jsonl',
    'identity/other.key',
  ]) {
    const message = new RegExp(`"${path.replace('/compiled.node', '')}" is in it, which no backup has`)
    await t.rejects(
      checkWith(t, (folder) => put(folder, path)),
      { message },
    )
  }
  await t.rejects(
    checkWith(t, (folder) => rmSync(join(folder, 'state'), { recursive: true })),
    { message: /"state\/state.sqlite" is missing/ },
  )
})
