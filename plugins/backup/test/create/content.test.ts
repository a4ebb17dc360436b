import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { readHeader } from '../../src/archive/read-archive.ts'
import {
  createBackupNode,
  makeBackup,
  participantPlugin,
  partOf,
  put,
  unpacked,
} from '../fixtures/backup-node.ts'

const oddNames = [
  ' leading and trailing ',
  'new\nline',
  'tab\tand\rreturn',
  'quote"s\'and`s',
  'back\\slash',
  '-rf',
  '$(rm -rf ~)',
  'ünïcödé-日本語-🦊',
  '..dots..',
  '.hidden',
  'a'.repeat(255),
  '*?[x]',
  'CON',
  'manifest.json',
  'backup.json',
  '\u202eright-to-left',
]

test('odd names, empty files, empty folders and deep paths are in a backup', async (t) => {
  const node = await createBackupNode()
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const headers = { 'content-type': 'application/json' }
  const ask = (operation: string, path: string) =>
    owner.fetch(`/${operation}`, { method: 'POST', body: JSON.stringify({ path }), headers })
  const accepted: string[] = []
  for (const name of oddNames) {
    const answer = await owner.fetch(`/write?path=${encodeURIComponent(`/${name}/${name}`)}`, {
      method: 'PUT',
      body: name,
    })
    if (answer.ok) accepted.push(name)
    else t.equal(answer.status, 400, `${name} is refused by the node itself`)
  }
  t.ok(accepted.length > oddNames.length / 2)
  await put(owner, '/empty file', '')
  await ask('mkdir', '/empty/folder')
  const deep = `${`/${'ä'.repeat(100)}`.repeat(20)}/${'x'.repeat(75)}`
  t.equal(Buffer.byteLength(deep), 4096)
  await put(owner, deep, 'deep')

  const { filename } = await makeBackup(owner)
  const folder = await unpacked(t, node, filename)
  const home = join(folder, 'files/local', owner.user.uuid)
  for (const name of accepted) t.equal(readFileSync(join(home, name, name), 'utf8'), name)
  t.equal(statSync(join(home, 'empty file')).size, 0)
  t.strictSame(readdirSync(join(home, 'empty/folder')), [])
  if (process.platform === 'linux') {
    const half = deep.length / 2
    const cut = deep.lastIndexOf('/', half)
    const found = execFileSync('sh', [
      '-c',
      'cd "$1" && cat "$2"',
      'sh',
      join(home, deep.slice(0, cut)),
      deep.slice(cut + 1),
    ])
    t.equal(found.toString(), 'deep')
  }
  // A plain removal of the folders would not reach the deep file.
  const [, top = ''] = deep.split('/')
  await ask('delete', `/${top}`)
  execFileSync('rm', ['-rf', join(home, top)])
})

test('links and special files are named as left out', async (t) => {
  const node = await createBackupNode()
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  await put(owner, '/file', 'x')
  const home = join(node.dataFolder, 'files', owner.user.uuid)
  symlinkSync('/etc/passwd', join(home, 'link'))
  execFileSync('mkfifo', [join(home, 'pipe')])
  mkdirSync(join(node.dataFolder, 'files/lost+found'))
  const { filename } = await makeBackup(owner)
  const { header } = await readHeader(join(node.dataFolder, 'backups', filename))
  const user = `files: local/${owner.user.uuid}`
  t.strictSame(
    new Map(
      header.omitted.filter(({ what }) => what.startsWith('files: ')).map(({ what, why }) => [what, why]),
    ),
    new Map([
      [`${user}/link`, 'It is a symbolic link.'],
      [`${user}/pipe`, 'It is a special file.'],
      ['files: local/lost+found', 'It belongs to no user.'],
    ]),
  )
  const folder = await unpacked(t, node, filename)
  t.strictSame(readdirSync(join(folder, 'files/local', owner.user.uuid)), ['file'])
})

test('a file that another program changes in place is taken and named as changed', async (t) => {
  // All states are fixed when this part is asked what it leaves out, and no file was read yet.
  let change = () => {}
  const nothing = partOf(async function* () {})
  const late = participantPlugin('late', async (signal) => {
    const prepared = await nothing(signal)
    return {
      ...prepared,
      async halt() {
        const halted = await prepared.halt()
        const omitted = async () => {
          // The clock of the file system may be some milliseconds behind. A Date of `stat` is rounded up.
          const probe = join(node.dataFolder, 'probe')
          const now = Date.now()
          do writeFileSync(probe, '')
          while (statSync(probe).mtimeMs < now + 1)
          change()
          return []
        }
        return { ...halted, fix: async () => ({ ...(await halted.fix()), omitted }) }
      },
    }
  })
  const node = await createBackupNode({ plugins: [late] })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  for (const name of ['longer', 'shorter', 'other', 'same']) await put(owner, `/${name}`, 'before')
  const home = join(node.dataFolder, 'files', owner.user.uuid)
  const elsewhere = join(node.dataFolder, 'elsewhere')
  mkdirSync(elsewhere)
  for (const name of ['longer', 'shorter', 'other']) linkSync(join(home, name), join(elsewhere, name))
  change = () => {
    appendFileSync(join(elsewhere, 'longer'), ' and after')
    truncateSync(join(elsewhere, 'shorter'), 2)
    writeFileSync(join(elsewhere, 'other'), 'behind')
  }
  const { filename } = await makeBackup(owner)
  const folder = await unpacked(t, node, filename)
  const { entries } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
    entries: { path: string; changed?: boolean }[]
  }
  const files = join('files/local', owner.user.uuid)
  const changed = entries.filter((entry) => entry.changed).map(({ path }) => path)
  t.strictSame(
    changed.sort(),
    ['longer', 'other', 'shorter'].map((name) => join(files, name)),
  )
  const textOf = (name: string) => readFileSync(join(folder, files, name), 'utf8')
  t.strictSame(['longer', 'shorter', 'other', 'same'].map(textOf), [
    'before and after',
    'be',
    'behind',
    'before',
  ])
})
