import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { createTestNode, needsPrograms, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import { definePlugin, Type, UpdateSource, userOf, WebPages } from '@nodekeep/plugin-sdk'
import type { Page, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { answerOnce } from '../browser/answer-requests.ts'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { openPage } from './fixtures/frame.ts'
import { storePast } from './fixtures/past-history.ts'

/** Long, since other tests may use both processors. */
const timeout = 60_000

const folder = import.meta.dirname
const markup = '<img src=x onerror="window.__xss = 1">'
const pageTitle = '<img src=x onerror="__xss = 1">'

t.jobs = 3
const browser = needsChromium ? null : await startChromium(t)

/** A tab in which a user is signed in. */
interface Scene {
  readonly page: Page
  /** Errors of scripts, and what the Content-Security-Policy refused. */
  readonly faults: string[]
  /** Opens a part of the page by its link. */
  open(title: string): Promise<void>
  /** Agrees in the dialog. */
  agree(text: string): Promise<void>
  /** Checks that no script of a stranger has run, and that nothing is wider than a phone. */
  check(): Promise<void>
}

async function openNodePage(t: Test, node: TestNode, user: TestUser): Promise<Scene> {
  if (browser === null) throw new Error('Chromium is missing.')
  const context = await browser.newContext({ acceptDownloads: true, viewport: { width: 1000, height: 1600 } })
  t.teardown(() => context.close())
  context.setDefaultTimeout(timeout)
  await context.addCookies([{ name: 'session', value: user.token, url: node.url.href, sameSite: 'Lax' }])
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (line) => {
    if (/Content.Security.Policy|Trusted/i.test(line.text())) faults.push(line.text())
  })
  await page.goto(new URL('/#/node', node.url).href)
  return {
    page,
    faults,
    async open(title) {
      await page
        .getByRole('navigation', { name: 'Parts of the node' })
        .getByText(title, { exact: true })
        .click()
      await page.getByRole('heading', { name: headingOf(title), level: 1 }).waitFor()
    },
    agree: (text) => page.getByRole('dialog').getByRole('button', { name: text, exact: true }).click(),
    async check() {
      t.equal(await page.evaluate('window.__xss'), undefined)
      const viewport = page.viewportSize()
      await page.setViewportSize({ width: 360, height: 740 })
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), page.url())
      if (viewport !== null) await page.setViewportSize(viewport)
    },
  }
}

/** The overview has what it finds in its heading. */
const headingOf = (title: string) => (title === 'Overview' ? /^Your node / : title)

/** Chooses a line in the menu of a user. */
async function choose(page: Page, username: string, line: string): Promise<void> {
  await page.getByRole('button', { name: `Actions: ${username}` }).click()
  await page.getByRole('menuitem', { name: line, exact: true }).click()
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** A program that takes messages of the node. */
async function startReceiver(t: Test) {
  const types: string[] = []
  const server = createServer(async (request, response) => {
    types.push(JSON.parse(await text(request)).type)
    response.writeHead(204, { connection: 'close' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  return { types, host: `127.0.0.1:${port}`, section: { url: `http://127.0.0.1:${port}/`, secret } }
}

/**
 * @param recipients public keys to which backups are encrypted
 * @param webhook the section of `attention-webhook`
 */
async function startNode(
  t: Test,
  recipients: readonly string[] = [],
  webhook: object = {},
): Promise<TestNode> {
  const optional = { required: false }
  const node = await createTestNode({
    plugins: [
      definePlugin({
        id: 'strange',
        description: markup,
        contributes: { pages: WebPages },
        setup({ pages }) {
          pages.add('strange', { title: pageTitle, folder, module: 'none.js' })
        },
      }),
      definePlugin({
        id: 'fake-source',
        provides: { source: UpdateSource },
        setup: () => ({
          source: {
            isConfigured: true,
            latest: async () => ({ version: '9.0.0', notes: `# New\n${markup}` }),
            download: async () => {},
          },
        }),
      }),
    ],
    config: {
      plugins: {
        'storage-local': optional,
        files: optional,
        'file-sync': optional,
        'node-history': optional,
        'attention-webhook': optional,
        backup: optional,
        update: optional,
        overlay: optional,
        'overlay-tunnel': optional,
        web: optional,
      },
      backup: { drill: false, keep: { last: 1 }, recipients },
      'attention-webhook': webhook,
    },
    folder,
  })
  t.teardown(() => node.stop())
  return node
}

t.test('the owner looks after the node', { skip: needsChromium }, async (t) => {
  const receiver = await startReceiver(t)
  const node = await startNode(t, [], receiver.section)
  const owner = await node.signIn('owner')
  const { page, faults, open, agree, check } = await openNodePage(t, node, owner)

  await t.test('the overview tells what needs the owner, and leads to it', async (t) => {
    await page.getByRole('heading', { name: 'Your node works', level: 1 }).waitFor()
    await page.getByText('There is no backup yet: what is lost now is lost for good.').waitFor()
    t.equal(await page.getByText('Everything works').count(), 0)
    const card = (title: string) => page.getByRole('region', { name: title, exact: true })
    await card('Backup').getByText('No backup yet').waitFor()
    await card('Backup').getByRole('link', { name: 'Make a backup' }).waitFor()
    await card('From outside').getByText('Only this computer', { exact: true }).waitFor()
    await card('Room')
      .locator('.fact')
      .getByText(/^[\d.,]+ [GT]B free$/)
      .waitFor()
    await card('People')
      .getByRole('listitem')
      .filter({ hasText: owner.user.username })
      .getByText(/here now/)
      .waitFor()
    await card('Version')
      .getByText(/^Version 9\.0\.0 is ready$|^Version \d/)
      .waitFor()
    await card('Files, 30 days').waitFor()
    await card('Requests, 2 days')
      .getByText(/requests?\./)
      .waitFor()
    await card('Alerts').getByText(receiver.host).waitFor()
    await page.getByText('All checks').click()
    await page.getByRole('row').filter({ hasText: 'Database' }).getByText('Works').waitFor()
    await check()
    await page
      .getByRole('list', { name: 'What needs you' })
      .getByRole('link', { name: 'See the backups' })
      .click()
    await page.getByRole('heading', { name: 'Backups', level: 1 }).waitFor()
  })

  await t.test('the owner names the node', async () => {
    await open('Overview')
    const nameIs = (name: string) =>
      untilTrue(page, `document.title === ${JSON.stringify(`Overview · ${name}`)}`)
    const rename = async (name: string) => {
      await button(page, 'Name the node').click()
      await page.getByLabel('Name of the node').fill(name)
      await agree('Set the name')
    }
    await rename('a'.repeat(41))
    await page.getByRole('dialog').getByText('A name has at most 40 characters.').waitFor()
    await agree('Cancel')
    await rename(pageTitle)
    await nameIs(pageTitle)
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: pageTitle }).waitFor()
    await check()
    await rename('')
    await nameIs('Nodekeep')
  })

  await t.test('a badge on every page tells how much needs the owner', async (t) => {
    const badge = page.getByRole('link', { name: /^\d+ things? needs? you$/ })
    await openPage(page, 'Trash')
    await page.getByText('stay here for 30 days').waitFor()
    await badge.click()
    await page.getByRole('heading', { name: /^Your node /, level: 1 }).waitFor()
    t.equal(new URL(page.url()).hash, '#/node')
  })

  await t.test('a plugin is disabled and enabled', async (t) => {
    await open('Plugins')
    await page.getByText(markup).waitFor()
    await page.getByText('Keeps the files of everybody, with a trash and former versions.').waitFor()
    await button(page, 'Disable: files').click()
    await page
      .getByRole('dialog')
      .getByText(/These plugins need it and stop, too: .*file-sync/)
      .waitFor()
    await agree('Disable')
    await page.getByRole('link', { name: 'Devices' }).waitFor({ state: 'detached' })
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    await navigation.getByText('Files', { exact: true }).waitFor({ state: 'detached' })
    const enable = button(page, 'Enable: files')
    await enable.waitFor()
    // The focus stays.
    await untilTrue(page, "document.activeElement.ariaLabel === 'Enable: files'")
    t.strictSame(await navigation.getByRole('link').allTextContents(), ['Nodekeep', 'Node'])
    await button(page, 'More').click()
    t.strictSame(await page.getByRole('menuitem').allTextContents(), [pageTitle])
    await page.keyboard.press('Escape')
    t.equal((await owner.fetch('/readdir?path=/')).status, 404)
    await enable.click()
    await page.getByRole('link', { name: 'Devices' }).waitFor()
    await navigation.getByText('Files', { exact: true }).waitFor()
    t.equal((await owner.fetch('/readdir?path=/')).status, 200)

    await button(page, 'Disable: web').click()
    await page.getByText('These pages stop, too').waitFor()
    await agree('Cancel')
    await check()
  })

  await t.test('a user is added, disabled, deleted and kept', async (t) => {
    await open('Users')
    await page.getByRole('heading', { name: 'All users' }).waitFor()
    const wallet = page.getByLabel('Wallet address')
    await wallet.fill('nonsense')
    const name = page.getByLabel('Name (optional)')
    await name.fill('Жанна')
    await button(page, 'Add a user').click()
    await page.getByRole('alert').getByText('A name has 3 to 30 letters').waitFor()
    t.equal(await name.getAttribute('aria-invalid'), 'true')
    await name.fill('Grace')
    await button(page, 'Add a user').click()
    await page.getByRole('alert').getByText('"nonsense" is not a wallet address').waitFor()
    await open('Overview')
    await open('Users')
    t.equal(await wallet.inputValue(), 'nonsense', 'nothing typed is lost')
    await page.context().setOffline(true)
    await button(page, 'Add a user').click()
    await page.getByRole('alert').getByText('The node did not answer').waitFor()
    t.equal(await wallet.inputValue(), 'nonsense')
    await page.context().setOffline(false)
    await page.getByText('The node does not answer').waitFor({ state: 'detached' })
    await wallet.fill(`0x${'ab'.repeat(20)}`)
    await button(page, 'Add a user').click()
    const row = page.getByRole('listitem').filter({ hasText: 'grace' })
    await row.getByText('Let in by the owner').waitFor()
    await row.getByText(/never here yet · 0 B in 0 entries/).waitFor()
    await owner.fetch('/write?path=/film', { method: 'PUT', body: Buffer.alloc(4000) })
    await owner.fetch('/write?path=/draft', { method: 'PUT', body: 'draft' })
    const headers = { 'content-type': 'application/json' }
    await owner.fetch('/delete', { method: 'POST', headers, body: JSON.stringify({ path: '/draft' }) })
    await open('Storage')
    const storage = page.getByRole('list', { name: 'Storage of the files' })
    await storage.getByText(/^4 kB in 1 entry, [\d.]+ [GT]B of [\d.]+ [GT]B are free$/).waitFor()
    await storage.getByText('4 kB of files', { exact: true }).waitFor()
    await page.getByText(/take 5 B beside that\. .*"storage\.trash"/).waitFor()
    const stored = page.getByRole('list', { name: 'Who stores what' }).getByRole('listitem')
    await stored.getByText('4 kB in 1 entry, 5 B in the trash, 0 B in versions').waitFor()
    t.match(await stored.first().textContent(), owner.user.username, 'largest first')
    await stored.filter({ hasText: 'grace' }).getByText('0 B in 0 entries').waitFor()
    await open('Users')
    await page
      .getByRole('list', { name: 'All users' })
      .getByText(/here now · 4 kB in 1 entry/)
      .waitFor()
    t.equal(await wallet.inputValue(), '')

    await choose(page, 'grace', 'Quota')
    const quota = page.getByRole('dialog', { name: 'How much may grace store?' }).getByLabel('Quota')
    t.equal(await quota.inputValue(), 'default')
    await quota.fill('lots')
    await agree('Set')
    await page.getByRole('alert').getByText('must be a size such as "50 GB"').waitFor()
    await quota.fill('50 GB')
    await agree('Set')
    await row.getByText(/0 B in 0 entries.*, may store 50 GB$/).waitFor()
    await choose(page, 'grace', 'Quota')
    t.equal(await quota.inputValue(), '50 GB')
    await quota.fill('none')
    await agree('Set')
    await row.getByText(/0 B in 0 entries(, still counting)?$/).waitFor()

    await choose(page, 'grace', 'Rename')
    await page.getByRole('dialog', { name: 'Rename grace' }).getByLabel('Name').fill('Grace Hopper')
    await agree('Rename')
    await page.getByRole('button', { name: 'Actions: grace-hopper' }).waitFor()
    await button(page, 'Undo').click()
    await page.getByRole('button', { name: 'Actions: grace', exact: true }).waitFor()

    await choose(page, 'grace', 'Disable')
    await agree('Disable')
    await row.getByText('Disabled since').waitFor()
    await choose(page, 'grace', 'Enable')
    await row.getByText('Disabled since').waitFor({ state: 'detached' })
    await choose(page, 'grace', 'Delete')
    await agree('Delete')
    await row.getByText('All data is removed on').waitFor()
    await choose(page, 'grace', 'Undo the deletion')
    await row.getByText('Let in by the owner').waitFor()
    const { users } = (await (await owner.fetch('/api/users')).json()) as { users: object[] }
    t.match(users.at(-1), { username: 'grace', added: /^20/, disabled: null, deletionDue: null })
    await check()
  })

  await t.test('a backup is made, downloaded, prepared for a restore, and deleted', async (t) => {
    await owner.fetch('/write?path=/letter.txt', { method: 'PUT', body: 'as it was' })
    await open('Backups')
    await page.getByText('There is no backup yet.').waitFor()
    await page.getByText(`Backups go to the folder ${join(node.dataFolder, 'backups')} on`).waitFor()
    await page.getByText('Backups are not tried out, since "backup.drill" is false').waitFor()
    const told = page.getByText(/The backup backup-\S+ is complete\./).waitFor()
    await button(page, 'Back up now').click()
    await Promise.all([open('Users'), told])
    await open('Backups')
    await page.getByText(/^1 backup takes \d+(\.\d)? [kM]B\. The next backup deletes it\.$/).waitFor()
    await page.getByText('Deleted after the next backup').waitFor()
    await page.getByText('Backups lie on this node alone, like the files.').waitFor()
    const saved = page.getByRole('link', { name: /^Download: / })
    const [download] = await Promise.all([page.waitForEvent('download'), saved.click()])
    const file = join(t.testdir({}), 'backup')
    await download.saveAs(file)
    const name = download.suggestedFilename()
    const original = await (await owner.fetch(`/api/backup/download/${name}`)).arrayBuffer()
    t.ok((await readFile(file)).equals(Buffer.from(original)))

    await owner.fetch('/write?path=/letter.txt', { method: 'PUT', body: 'as it is now' })
    await button(page, `Find a file: ${name}`).click()
    await page.getByLabel('Name, or a part of it').fill('LETTER')
    t.equal(await page.getByLabel('Recovery key').count(), 0)
    await agree('Find')
    await page.getByText('One was found.').waitFor()
    await check()
    await button(page, 'Put back: /letter.txt').click()
    await page.getByText(/^\/letter \(backup 20\S+\)\.txt is in the files of /).waitFor()
    t.equal(await (await owner.fetch('/read?path=/letter.txt')).text(), 'as it is now')
    await agree('Close')

    await button(page, `Restore: ${name}`).click()
    await agree('Compare')
    await page.getByText('Everybody has to sign in again').waitFor()
    t.notOk(await button(page, 'Restore and restart now').isVisible(), 'nothing would start this node again')
    await agree('Restore at the next start')
    await page.getByText(`The next start of the node restores ${name}`).waitFor()
    await check()
    await button(page, 'Do not restore').click()
    await page.getByText(`${name} is not restored.`).waitFor()
    t.match(await (await owner.fetch('/api/backup/status')).json(), { planned: null })

    await button(page, `Delete: ${name}`).click()
    await agree('Delete')
    await saved.waitFor({ state: 'detached' })
  })

  await t.test('a check finds a version, which a node of sources cannot install', async (t) => {
    await open('Update')
    await button(page, 'Check for updates').click()
    await page.getByText('What is new in 9.0.0').waitFor()
    await page.getByText(markup).waitFor()
    await page.getByText('Update them with "git pull"').waitFor()
    t.notOk(await button(page, 'Install 9.0.0').isVisible())
    await check()
  })

  await t.test(
    'the phone comes first, and without a gateway, the overlay says how to have one',
    async (t) => {
      await open('Outside access')
      await page.getByText('The node cannot be reached from outside').first().waitFor()
      await page.getByText('"overlay-tunnel": {').waitFor()
      const parts = await page.getByRole('heading', { level: 2 }).allTextContents()
      t.strictSame(parts, ['On your phone and in your home network', 'From everywhere'])
      await page.getByText(`http://192.168.1.20:${node.url.port}`).waitFor()
      await page.getByLabel('Address of this computer').fill('192.168.7.9 172.17.0.1')
      await page.getByText('"hostnames": ["192.168.7.9"]').waitFor()
      await page.getByText(`http://192.168.7.9:${node.url.port}`).waitFor()
      await check()
    },
  )

  await t.test('a test message goes to the receiver', async (t) => {
    await open('Alerts')
    await page.getByText(`Alerts go to ${receiver.host}.`).waitFor()
    await button(page, 'Send a test').click()
    await page.getByText(`${receiver.host} has taken the test.`).waitFor()
    t.ok(receiver.types.includes('node.test'))
    await check()
  })

  await t.test('a device is removed', async () => {
    await page.evaluate(`new Promise((resolve) => {
      const socket = new WebSocket(new URL('/api/sync', location.href))
      socket.onopen = () => socket.send(JSON.stringify({ type: 'hello', protocol: 1, name: ${JSON.stringify(markup)} }))
      socket.onmessage = resolve
    })`)
    await open('Devices')
    await page.getByText('Connected').waitFor()
    await button(page, `Remove: ${markup}`).click()
    await agree('Remove')
    await page.getByText('No device syncs your files yet.').waitFor()
    await check()
  })
  t.strictSame(faults, [])
})

t.test(
  'a device syncs by the commands of the page',
  { skip: needsChromium || needsPrograms('curl') },
  async (t) => {
    const node = await startNode(t)
    const user = await node.signIn()
    const { page, faults, open, check } = await openNodePage(t, node, user)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await open('Devices')
    await page.getByText('No device syncs your files yet.').waitFor()
    t.notOk(
      asked.some((url) => url.endsWith('/api/sync/client')),
      'the node is asked when somebody reads it',
    )
    await page.getByText('How to add a device').click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download nodekeep-sync.cjs' }).click(),
    ])
    const home = await mkdtemp(join(tmpdir(), 'nodekeep-device-'))
    t.teardown(() => rm(home, { recursive: true, force: true }))
    const env = { HOME: home, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
    const run = async (command: string, input?: string) => {
      const running = promisify(execFile)('bash', ['-c', command], { cwd: home, env })
      // An empty text would be a write of 0 bytes, which fails once the command has ended.
      running.child.stdin?.end(input)
      return (await running).stdout
    }
    const commands = await page.locator('details pre').allTextContents()
    const [fetchFile = '', compare = '', login = '', sync = '', install = '', unit = '', enable = ''] =
      commands
    t.equal(commands.length, 7)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await button(page, 'Copy').first().click()
    await page.getByText('Copied.').waitFor()
    t.equal(await page.evaluate('navigator.clipboard.readText()'), fetchFile)
    await run(fetchFile)
    t.match(await run(compare), 'nodekeep-sync.cjs: OK')
    t.ok((await readFile(join(home, 'nodekeep-sync.cjs'))).equals(await readFile(await download.path())))
    const scopes = ['files:read', 'files:write']
    const made = await page.evaluate(`fetch('/api/account/tokens', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: '${JSON.stringify({ name: 'laptop', scopes })}',
  }).then((answer) => answer.json())`)
    t.match(await run(login, `${(made as { token: string }).token}\n`), 'is stored')
    await user.fetch('/write?path=/cat.txt', { method: 'PUT', body: 'cat' })
    await run(`${sync} --once`)
    t.equal(await readFile(join(home, 'Cloud/cat.txt'), 'utf8'), 'cat')
    await page.getByText('To sync whenever you are signed in').click()
    await page.getByText('WantedBy=default.target').waitFor()
    await run(install)
    t.match(await run('~/.local/bin/nodekeep-sync status'), '1 synced')
    const readme = await readFile(join(folder, '../../plugins/file-sync/README.md'), 'utf8')
    for (const text of [install, unit, enable]) t.ok(readme.includes(text), text)
    await page.getByRole('link', { name: 'Account', exact: true }).last().click()
    await page.getByRole('heading', { name: 'API tokens' }).waitFor()
    await page.goBack()
    await check()
    t.strictSame(faults, [])
  },
)

t.test('the overview plots the past, and tells when the disk is full', { skip: needsChromium }, async (t) => {
  const dataFolder = t.testdir({})
  // Twenty days ago, twice as much of the disk was free.
  const same = { files: 5000, requests: 7, load: 0.25 }
  await storePast(dataFolder, (free) => ({
    days: [{ ago: 20, free: 2 * free, ...same }],
    hours: [2, 1].map((ago) => ({ ago, free, ...same })),
  }))
  const plugins = { 'storage-local': true, files: true, 'node-history': true, web: true }
  const node = await createTestNode({ config: { plugins }, folder, dataFolder })
  t.teardown(() => node.stop())
  const { page, faults, open, check } = await openNodePage(t, node, await node.signIn('owner'))
  await page.getByRole('heading', { name: 'Your node is well', level: 1 }).waitFor()
  const card = (title: string) => page.getByRole('region', { name: title, exact: true })
  await card('Room')
    .getByText(/It is full in about \d+ (days|weeks) at this pace\./)
    .waitFor()
  for (const title of ['Files, 30 days', 'Requests, 2 days']) await card(title).locator('.plot').waitFor()
  await card('Requests, 2 days').getByText('The processor was busy for').waitFor()
  await card('Files, 30 days')
    .getByText(/ less than \d+ days ago\.$/)
    .waitFor()
  t.equal(await page.getByRole('link', { name: /needs? you$/ }).count(), 0, 'there is no badge')
  await card('Room').getByRole('link', { name: 'See what takes it' }).click()
  await page.getByRole('heading', { name: 'Storage', level: 1 }).waitFor()
  await page.getByText('Delete what nobody needs').waitFor()
  await open('Overview')
  await check()
  t.strictSame(faults, [])
})

t.test(
  'an encrypted backup asks for a recovery key, and the page says how to have messages',
  { skip: needsChromium },
  async (t) => {
    const recipient = 'age1h0nkuygruw4gz5fp0d03kelfagq5p956x8k79eq9pqdk2r7vzuvszrmwn5'
    const identity = 'AGE-SECRET-KEY-1UPRKEXCP6RYVSHMCGXULUQ6Q8MD3MK60E524MDZF9AK9JFN9TY5SNURGGV'
    const node = await startNode(t, [recipient])
    const owner = await node.signIn('owner')
    await owner.fetch('/write?path=/letter.txt', { method: 'PUT', body: 'as it was' })
    const { page, open, agree } = await openNodePage(t, node, owner)
    await open('Alerts')
    await page.getByText('nodekeep attention-webhook secret').waitFor()
    await page.getByText('"attention-webhook": {').waitFor()
    await open('Backups')
    await button(page, 'Back up now').click()
    const find = page.getByRole('button', { name: /^Find a file: / })
    await find.click()
    await page.getByLabel('Name, or a part of it').fill('letter')
    await page.getByLabel('Recovery key').fill(identity)
    await agree('Find')
    await page.getByText('One was found.').waitFor()
    await agree('Close')
    await page.getByRole('button', { name: /^Restore: / }).click()
    await page.getByLabel('Recovery key').fill(identity)
    await agree('Compare')
    await page.getByText('Everybody has to sign in again').waitFor()
    await agree('Cancel')
  },
)

t.test(
  'the owner sees which providers of models work, and how others reach a node without an overlay',
  { skip: needsChromium },
  async (t) => {
    const plugins = { ai: true, 'ai-openai': true, 'ai-ollama': true, web: true }
    // Nothing listens there.
    const config = { plugins, 'ai-ollama': { host: '127.0.0.1:1' } }
    const node = await createTestNode({ config, folder })
    t.teardown(() => node.stop())
    const { page, faults, open, check } = await openNodePage(t, node, await node.signIn('owner'))
    await open('Models')
    const provider = (name: string) =>
      page
        .getByRole('list', { name: 'Providers of models' })
        .getByRole('listitem')
        .filter({ has: page.getByText(name, { exact: true }) })
    await provider('OpenAI').getByText('It has no models yet.').waitFor()
    await provider('OpenAI').getByText('Messages go to OpenAI, a company on the internet').waitFor()
    await provider('Ollama').getByText('The AI provider "ollama" cannot be reached').waitFor()
    await provider('Ollama').getByText('Messages go to the computer of this node.').waitFor()
    await page.getByText('With a key of OpenAI or Anthropic').click()
    await page.getByText('read -rs OPENAI_API_KEY').waitFor()
    await check()
    await open('Outside access')
    await page.getByText('"hostnames": ["192.168.1.20"]').waitFor()
    await check()
    t.strictSame(faults, [])
  },
)

t.test('a user sees own devices, and nothing of the owner', { skip: needsChromium }, async (t) => {
  const node = await startNode(t)
  const { page, faults, open, check } = await openNodePage(t, node, await node.signIn())
  await open('Devices')
  const parts = page.getByRole('navigation', { name: 'Parts of the node' }).getByRole('link')
  t.strictSame(await parts.allTextContents(), ['Outside access', 'Devices'])
  for (const path of ['/api/system/plugins', '/api/users', '/api/backup/list'])
    t.equal(await page.evaluate(`fetch('${path}').then(({ status }) => status)`), 403, path)
  await page.goto(new URL('/#/node/users', node.url).href)
  await page.getByText('The node does not have this part').waitFor()
  await check()
  t.strictSame(faults, [])
})

/** The answers of the routes of `updatePlugin`. */
function updateState() {
  return {
    version: '0.1.0',
    isUpdating: false,
    progress: 'No update runs.',
    wayBack: null as object | null,
    attempts: [] as object[],
  }
}

/** A plugin with the routes of `update`, of which a test decides everything: a test node cannot change its version. */
function updatePlugin(state: ReturnType<typeof updateState>) {
  const newest = '9.0.0'
  return definePlugin({
    id: 'update',
    description: 'Answers like updates.',
    config: Type.Object({}),
    setup({ routes }) {
      routes(
        (app) => {
          const answer = (path: string, body: () => object) => app.get(path, async () => body())
          answer('/version', () => ({ buildDate: '2026-11-23T00:00:00Z' }))
          answer('/status', () => ({
            currentVersion: state.version,
            latestVersion: newest,
            updateAvailable: state.version !== newest,
            releaseNotes: '',
          }))
          answer('/progress', () => ({ isUpdating: state.isUpdating, progress: state.progress }))
          const nothing = {
            checkedAt: null,
            checkProblem: null,
            installProblem: null,
            probationUntil: null,
            withoutWayBack: null,
          }
          answer('/details', () => ({ ...nothing, automatic: false, wayBack: state.wayBack }))
          answer('/history', () => ({ attempts: state.attempts }))
          for (const path of ['/install', '/back']) {
            app.post(path, { config: { access: 'owner' } }, async (request) => {
              state.isUpdating = true
              state.progress = `Asked for ${path} by ${userOf(request).username}: 50 %`
              return { success: true, message: 'The node changes soon.' }
            })
          }
        },
        { prefix: '/api/update' },
      )
    },
  })
}

t.test(
  'an update survives that the node goes away, and its end is told',
  { skip: needsChromium },
  async (t) => {
    const state = updateState()
    const config = { plugins: { web: true } }
    const node = await createTestNode({ plugins: [updatePlugin(state)], config, folder })
    t.teardown(() => node.stop())
    const owner = await node.signIn('owner')
    const { page, faults, open, agree, check } = await openNodePage(t, node, owner)
    const attempt = (from: string, to: string, result: string, reason: string | null = null) => {
      state.attempts.unshift({ from, to, result, reason, startedAt: new Date().toISOString() })
      state.isUpdating = false
      state.progress = 'The update has ended.'
    }
    const until = new Date(Date.now() + 72 * 3_600_000).toISOString()
    const install = async () => {
      await button(page, 'Install 9.0.0').click()
      await agree('Install 9.0.0')
    }

    await open('Update')
    await install()
    await page.getByText(`Asked for /install by ${owner.user.username}: 50 %`).waitFor()
    await open('Plugins')
    await open('Update')
    await page.getByRole('progressbar', { name: 'Progress of the update' }).waitFor()
    attempt('0.1.0', '9.0.0', 'failed', `It did not start. ${markup}`)
    await page.getByText(`The update failed: It did not start. ${markup}`).waitFor()
    await button(page, 'Close').first().click()

    state.attempts = []
    // Right before the answer to the person, the page gets one that no update runs.
    const [told, begun, shown] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ]
    const before = async (route: Route) => {
      const response = await route.fetch()
      told.resolve()
      await begun.promise
      await route.fulfill({ response })
      shown.resolve()
    }
    await answerOnce(page, '**/api/update/progress', before)
    await page.route('**/api/update/install*', async (route) => {
      await told.promise
      const response = await route.fetch()
      begun.resolve()
      await shown.promise
      await route.fulfill({ response })
    })
    await install()
    await page.getByText('50 %').waitFor()
    t.equal(await page.getByText(/runs now/).count(), 0, 'no end is told')
    await page.context().setOffline(true)
    await page.getByText('The node does not answer').waitFor()
    attempt('0.1.0', '9.0.0', 'installed')
    state.version = '9.0.0'
    state.wayBack = { version: '0.1.0', until, problems: [] }
    await page.context().setOffline(false)
    await page.getByText('Version 9.0.0 runs now.').waitFor()
    await page.getByText('These pages are still those of the former version.').waitFor()
    await page.getByText('0.1.0 → 9.0.0').first().waitFor()
    await page.getByText('Nobody has looked for a newer version yet.').waitFor()
    t.equal(await page.getByText('No newer version is known.').count(), 0)

    await button(page, 'Go back to 0.1.0').click()
    await agree('Go back to 0.1.0')
    await page.getByText('Asked for /back').waitFor()
    attempt('9.0.0', '0.1.0', 'went back', 'The owner of the node asked for it.')
    state.version = '0.1.0'
    state.wayBack = null
    await page.getByText('Version 0.1.0 runs now.').waitFor()
    await button(page, 'Reload the pages').waitFor({ state: 'detached' })
    await check()
    t.strictSame(faults, [])
  },
)
