import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { Page, Response } from 'playwright-core'
import t, { type Test } from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { chooseInPersonMenu, openPage } from './fixtures/frame.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'
import { startTalkingModel, type Talk } from './fixtures/talking-model.ts'

const browser = needsChromium ? null : await startChromium(t)

async function startChatNode(t: Test, baseURL?: string): Promise<TestNode> {
  const plugins = {
    ai: true,
    'ai-openai': baseURL !== undefined,
    files: true,
    search: true,
    'storage-local': true,
    web: true,
  }
  const config = {
    plugins,
    ai: { models: { waitMs: 30_000 }, retries: { max: 0 } },
    ...(baseURL !== undefined && { 'ai-openai': { baseURL } }),
  }
  const node = await createTestNode({ config, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  return node
}

async function startModelAndNode() {
  const { baseURL, nextTalk } = await startTalkingModel(t)
  return { nextTalk, node: await startChatNode(t, baseURL) }
}

let shared: ReturnType<typeof startModelAndNode> | undefined

/** Opens the page of chats for a new person. All share a node and its model. */
async function openChat() {
  if (browser === null) throw new Error('Chromium is missing.')
  shared ??= startModelAndNode()
  const { nextTalk, node } = await shared
  const tab = await openSignedInTab(browser, node, await node.signIn())
  await tab.page.getByRole('link', { name: 'Chat' }).click()
  await tab.page.getByLabel('Model').waitFor()
  return { ...tab, nextTalk, node }
}

const field = (page: Page) => page.getByLabel('Message', { exact: true })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text)
  await field(page).press('Enter')
}

async function answer(nextTalk: () => Promise<Talk>, ...pieces: string[]): Promise<Talk> {
  const talk = await nextTalk()
  for (const piece of pieces) talk.say(piece)
  talk.end()
  return talk
}

async function storedChats(user: TestUser): Promise<{ name: string }[]> {
  const answer = await user.fetch('/api/files/list?path=/chats')
  if (answer.status === 404) return []
  const { entries } = (await answer.json()) as { entries: { name: string; type: string }[] }
  return entries.filter(({ type }) => type === 'file')
}

async function storedChat(user: TestUser, name: string): Promise<{ messages: object[] }> {
  return (await (await user.fetch(`/read?path=${encodeURIComponent(`/chats/${name}`)}`)).json()) as never
}

t.test(
  'a conversation is streamed, shown as markdown and kept as a file',
  { skip: needsChromium },
  async (t) => {
    const { page, context, user, faults, nextTalk } = await openChat()
    t.equal(await page.locator('nav a[aria-current=page]').innerText(), 'Chat')
    const foreign: string[] = []
    context.on('request', (request) => {
      if (new URL(request.url()).hostname === 'tracker.test') foreign.push(request.url())
    })
    t.equal(await page.getByLabel('Model').inputValue(), 'openai/gpt-small', 'the first one that talks')
    await page.getByText('Messages go to the computer of this node.').waitFor()
    t.strictSame(
      await page
        .locator('optgroup')
        .evaluateAll((groups) =>
          groups.map((group) =>
            [...group.children].map(({ textContent }) => textContent).concat(group.getAttribute('label')),
          ),
        ),
      [
        ['gpt-small', 'org/gpt-large', 'OpenAI'],
        ['embedding-small', 'For sound, pictures and search'],
      ],
    )
    await page.getByLabel('Model').selectOption('org/gpt-large')
    await field(page).fill('kept over a reload')
    await page.reload()
    t.equal(await field(page).inputValue(), 'kept over a reload')
    t.equal(await page.getByLabel('Model').inputValue(), 'openai/org/gpt-large')

    await say(page, 'What is <b>2/3</b>?')
    const talk = await nextTalk()
    t.strictSame(talk.messages, [{ role: 'user', content: [{ type: 'text', text: 'What is <b>2/3</b>?' }] }])
    talk.say('**Two')
    const reply = page.getByRole('article', { name: 'org/gpt-large', exact: true })
    await reply.getByText('**Two').waitFor()
    await button(page, 'Stop').waitFor()
    await field(page).fill('typed meanwhile')
    await page.getByRole('heading', { level: 1, name: 'What is <b>2 3< b>?' }).waitFor()
    talk.say(' thirds**, about 0.67 &amp; more.\n\n')
    talk.say('<img src=x onerror="window.__xss=1"> <script>window.__xss=1</script>\n\n')
    talk.say('[bad](javascript:window.__xss=1) [route](/read?path=/) [good](https://example.test/a) ')
    talk.say(
      '![a picture](http://tracker.test/p.png)\n\n- [x] one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n',
    )
    talk.say('```js\nconst a = "<b>"\n```\n\nThe end.')
    talk.end()
    await button(page, 'Send').waitFor()
    t.equal(await reply.locator('strong').textContent(), 'Two thirds')
    await reply.getByText('about 0.67 & more.').waitFor()
    await reply.getByText('<script>window.__xss=1</script>').waitFor()
    await reply.getByText('The end.').waitFor()
    t.strictSame(
      await page.evaluate(
        `[...document.querySelectorAll('article:last-of-type a')].map((link) => [link.textContent, link.getAttribute('href'), link.getAttribute('rel')])`,
      ),
      [
        ['good', 'https://example.test/a', 'noopener noreferrer'],
        ['a picture', 'http://tracker.test/p.png', 'noopener noreferrer'],
      ],
    )
    t.equal(await reply.locator('img').count(), 0)
    t.equal(await reply.locator('td.to-right').textContent(), '2')
    t.equal(await reply.locator('pre').textContent(), 'const a = "<b>"')
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await button(page, 'Copy the reply').click()
    await reply.getByText('Copied.').waitFor()
    t.match(await page.evaluate('navigator.clipboard.readText()'), /^\*\*Two thirds\*\*/)
    await button(page, 'Copy').click()
    await untilTrue(page, `navigator.clipboard.readText().then((text) => text === 'const a = "<b>"')`)
    // The whole reply is announced.
    await page.locator('[aria-live=polite]', { hasText: 'The end.' }).waitFor({ state: 'attached' })
    t.equal(await page.evaluate('window.__xss'), undefined)
    t.strictSame(foreign, [])

    t.equal(await field(page).inputValue(), 'typed meanwhile')
    await page.getByRole('link', { name: 'What is <b>2 3< b>?' }).waitFor()
    const [{ name } = { name: '' }] = await storedChats(user)
    t.match(name, /^\d{4}-\d\d-\d\d What is <b>2 3< b>\?\.json$/)
    await field(page).press('Enter')
    const second = await nextTalk()
    t.equal(second.messages.length, 3)
    second.say('Su')
    await page.getByRole('article').last().getByText('Su').waitFor()
    await page.getByRole('link', { name: 'Files' }).first().click()
    await page.getByRole('link', { name: 'chats' }).waitFor()
    second.say('re.')
    await page.getByRole('link', { name: 'Chat', exact: true }).click()
    await page.getByRole('article').last().getByText('Sure.').waitFor()
    await page.waitForURL(/What/)
    second.end()
    await button(page, 'Send').waitFor()

    await button(page, 'Rename').click()
    await page.getByLabel('Title').fill('Thirds & more')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('heading', { name: 'Thirds & more' }).waitFor()
    await page.getByRole('link', { name: 'Thirds & more' }).waitFor()
    await page.waitForURL(/Thirds/)
    await page.reload()
    await page.getByRole('article').last().getByText('Sure.').waitFor()
    t.equal(await page.getByRole('article').count(), 4)
    const stored = await storedChat(user, (await storedChats(user))[0]?.name ?? '')
    t.strictSame(stored.messages[3], { role: 'assistant', content: 'Sure.', model: 'openai/org/gpt-large' })

    t.match(await page.title(), /^Thirds & more · /)

    await button(page, 'Delete').click()
    await page.getByText('You have no conversations yet.').waitFor()
    await page.getByRole('heading', { name: 'New conversation' }).waitFor()
    // The focus is in the field.
    await untilTrue(page, "document.activeElement.tagName === 'TEXTAREA'")
    t.strictSame(await storedChats(user), [])
    await button(page, 'Undo').click()
    await page.getByRole('article').last().getByText('Sure.').waitFor()
    await page.getByRole('link', { name: 'Thirds & more' }).waitFor()
    t.equal((await storedChats(user)).length, 1)
    t.strictSame(faults, [])
  },
)

t.test('a search among the files leads to a conversation', { skip: needsChromium }, async (t) => {
  const { page, user, faults, nextTalk } = await openChat()
  await say(page, 'Where do puffins nest?')
  await answer(nextTalk, 'On cliffs.')
  await page.getByRole('article').last().getByText('On cliffs.').waitFor()
  await user.fetch('/write?path=/chats/notes.txt', { method: 'PUT', body: 'puffins' })
  const found = page.getByRole('region', { name: 'Results' })
  const lines = found.getByRole('listitem')
  // The node reads what is stored some time later.
  for (let count = 0; count < 2; count = await lines.count()) {
    for (const text of ['puffin', 'puffins']) {
      const answered = page.waitForResponse('**/api/search?*')
      await page.getByRole('searchbox', { name: 'Search files and what is in them' }).fill(text)
      await answered
    }
    await page.evaluate('new Promise(requestAnimationFrame)')
  }
  t.equal(await page.getByRole('searchbox', { name: 'Search conversations' }).count(), 0)
  await lines
    .filter({ hasText: 'Conversation' })
    .getByRole('link', { name: /^Where do puffins nest/ })
    .click()
  await page.getByRole('article').last().getByText('On cliffs.').waitFor()
  await page.goBack()
  await found.getByRole('link', { name: 'notes.txt' }).click()
  const viewer = page.getByRole('dialog')
  await viewer.getByText('puffins').waitFor()
  for (const name of ['Previous', 'Next'])
    t.equal(
      await viewer.getByRole('button', { name }).getAttribute('aria-disabled'),
      'true',
      'a conversation is no neighbor',
    )
  t.strictSame(faults, [])
})

t.test('a reply can be stopped, fail and be asked for again', { skip: needsChromium }, async (t) => {
  const { page, context, user, faults, nextTalk } = await openChat()
  await say(page, 'Tell me a story')
  const first = await nextTalk()
  first.say('Once upon')
  await page.getByRole('article').last().getByText('Once upon').waitFor()
  await button(page, 'Stop').click()
  await first.closed
  await page.getByText('This reply is not complete.').waitFor()

  await button(page, 'Try again').click()
  ;(await nextTalk()).fail()
  await page.getByRole('alert').getByText('out of memory').waitFor()
  await page.getByRole('article').last().getByText('Once upon').waitFor()
  await button(page, 'Try again').click()
  await answer(nextTalk, 'There was a node.')
  await page.getByRole('article').last().getByText('There was a node.').waitFor()
  await button(page, 'Send').waitFor()
  t.equal(await page.getByRole('article').count(), 2)

  // Without the node, a message is kept, and stored when the node is back.
  await context.setOffline(true)
  await say(page, 'Are you there?')
  await page.getByText('The node does not answer.').waitFor()
  await page.getByRole('alert').getByText('The connection broke').waitFor()
  await field(page).fill('typed while away')
  await context.setOffline(false)
  await page.getByText('The node does not answer.').waitFor({ state: 'detached' })
  await button(page, 'Try again').click()
  const kept = page.waitForResponse(
    (answer) =>
      answer.request().method() === 'PUT' && answer.request().postData()?.includes('Back again.') === true,
  )
  await answer(nextTalk, 'Back again.')
  await page.getByRole('article').last().getByText('Back again.').waitFor()
  await button(page, 'Send').waitFor()
  await kept
  t.equal(await field(page).inputValue(), 'typed while away')

  // The session ends. The message waits for the new session.
  await context.clearCookies()
  const refused = ['/api/ai/chat', '/write'].map((path) =>
    page.waitForResponse((answer) => answer.status() === 401 && answer.url().includes(path)),
  )
  await field(page).press('Enter')
  await Promise.all(refused)
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('article').last().getByText('typed while away').waitFor()
  await page.getByText('The conversation is not stored').waitFor()
  const cookie = {
    name: 'session',
    value: user.token,
    url: page.url().split('/#')[0] ?? '',
    sameSite: 'Lax' as const,
  }
  await context.addCookies([cookie])
  await button(page, 'Store it again').click()
  await page.getByText('The conversation is not stored').waitFor({ state: 'detached' })
  const [chat] = await storedChats(user)
  t.match(JSON.stringify((await storedChat(user, chat?.name ?? '')).messages.at(-1)), 'typed while away')

  await say(page, 'Stay a while')
  const last = await nextTalk()
  last.say('Gladly')
  await page.getByRole('article').last().getByText('Gladly').waitFor()
  await chooseInPersonMenu(page, 'Sign out')
  await page.getByText('It is canceled if you sign out.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
  await last.closed
  await page.getByText('You are signed out.').waitFor()
  t.strictSame(faults, [])
})

/** A picture of one pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

/** Gives a picture to the field, as a person does who pastes or drops one. */
const givePicture = (event: string) => `(() => {
  const data = new DataTransfer()
  const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (character) => character.charCodeAt(0))
  data.items.add(new File([bytes], 'image.png', { type: 'image/png' }))
  const event = ${event}
  document.querySelector('form.message textarea').dispatchEvent(event)
})()`
const pasted = givePicture(
  "new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })",
)
const dropped = givePicture("new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })")

t.test('pictures and texts go with a question', { skip: needsChromium }, async (t) => {
  const { page, user, faults, nextTalk } = await openChat()
  const put = await user.fetch('/write?path=/lists/plums.md', { method: 'PUT', body: '2 plums' })
  t.ok(put.ok)
  const input = page.locator('form.message input[type=file]')
  const files = (...names: string[]) =>
    names.map((name) => ({ name, mimeType: name.endsWith('png') ? 'image/png' : '', buffer: png }))
  await input.setInputFiles(files('tree.png'))
  const attached = page.getByRole('list', { name: 'Attached files' })
  await attached.getByRole('link', { name: 'tree.png' }).waitFor()
  for (const given of [pasted, dropped]) {
    await page.evaluate(given)
    await attached.getByRole('link', { name: 'image.png' }).waitFor()
    await button(page, 'Remove image.png').click()
    await attached.getByText('image.png').waitFor({ state: 'detached' })
  }
  await button(page, 'Attach files').click()
  await page.getByRole('menuitem', { name: 'From my files' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'lists' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'plums.md' }).click()
  await attached.getByRole('link', { name: 'plums.md' }).waitFor()

  // A file that no model reads is refused, and nothing of it is stored.
  await input.setInputFiles(files('program.bin'))
  await page.getByRole('alert').getByText('"program.bin" cannot be attached.').waitFor()
  await input.setInputFiles([
    { name: 'long.txt', mimeType: 'text/plain', buffer: Buffer.alloc(200_001, 'x') },
  ])
  await page.getByRole('alert').getByText('"long.txt" is too large to attach.').waitFor()
  await input.setInputFiles([{ name: 'bad.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('no picture') }])
  await page.getByRole('alert').getByText('cannot read the picture "bad.jpg"').waitFor()
  t.equal(await attached.getByRole('listitem').count(), 2)

  // A reload loses nothing.
  await page.reload()
  await attached.getByRole('link', { name: 'plums.md' }).waitFor()
  await say(page, 'How many?')
  const talk = await nextTalk()
  t.match(talk.messages, [
    {
      role: 'user',
      content: [
        { type: 'image', url: /^data:image\/jpeg;base64,/ },
        { type: 'text', text: 'The file "plums.md":\n\n2 plums' },
        { type: 'text', text: 'How many?' },
      ],
    },
  ])
  talk.say('Two.')
  talk.end()
  await page.getByRole('article').last().getByText('Two.').waitFor()
  await button(page, 'Send').waitFor()
  await page.getByRole('article', { name: 'You' }).getByRole('link', { name: 'plums.md' }).waitFor()
  t.equal(await page.locator('form.message').getByRole('listitem').count(), 0)

  // The next question has the files of the one before, as far as they are there.
  const gone = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"path":"/lists/plums.md"}',
  }
  t.ok((await user.fetch('/delete', gone)).ok)
  await page.reload()
  await page.getByRole('article').last().getByText('Two.').waitFor()
  await say(page, 'Sure?')
  const next = await nextTalk()
  t.match(next.messages, [
    { content: [{ type: 'image' }, { text: /plums.md.*not there any more/ }, {}] },
    {},
    {},
  ])
  const kept = page.waitForResponse((answer) => answer.request().postData()?.includes('Yes.') ?? false)
  next.say('Yes.')
  next.end()
  await kept
  const [stored] = await storedChats(user)
  const [question] = (await storedChat(user, stored?.name ?? '')).messages as {
    content: string
    files: string[]
  }[]
  t.equal(question?.content, 'How many?', 'other programs find a plain text')
  t.match(question?.files, [/^\/chats\/files\/\S+ tree.png$/, '/lists/plums.md'])
  const own = await user.fetch('/api/files/list?path=/chats/files')
  t.match(await own.json(), { entries: [{ name: / tree.png$/ }] })
  t.strictSame(faults, [])
})

t.test('a message takes a limited number of files', { skip: needsChromium }, async (t) => {
  const { page, user, faults } = await openChat()
  const files = Array.from({ length: 11 }, (_, i) => ({
    name: `${i}.txt`,
    mimeType: 'text/plain',
    buffer: Buffer.from('x'),
  }))
  await page.locator('form.message input[type=file]').setInputFiles(files)
  await page.getByRole('alert').getByText('A message takes at most 10 files.').waitFor()
  const attached = page.getByRole('list', { name: 'Attached files' })
  t.equal(await attached.getByRole('link').count(), 10)
  const stored = await user.fetch('/api/files/list?path=/chats/files')
  t.equal(((await stored.json()) as { entries: object[] }).entries.length, 10)
  t.strictSame(faults, [])
})

t.test('a reply can be made anew, and a question changed', { skip: needsChromium }, async (t) => {
  const { page, user, faults, nextTalk } = await openChat()
  const stored = (text: string) =>
    page.waitForResponse((answer) => answer.request().postData()?.includes(text) ?? false)
  await say(page, 'What is one?')
  await answer(nextTalk, 'A number.')
  await page.getByRole('article').last().getByText('A number.').waitFor()
  await button(page, 'Send').waitFor()
  await say(page, 'And two?')
  await answer(nextTalk, 'Another.')
  await page.getByRole('article').last().getByText('Another.').waitFor()
  await button(page, 'Regenerate').click()
  await answer(nextTalk, 'Twice one.')
  await page.getByRole('article').last().getByText('Twice one.').waitFor()
  t.equal(await page.getByRole('article').count(), 4)

  const first = page.getByRole('article', { name: 'You' }).first()
  await first.getByRole('button', { name: 'Edit the question' }).click()
  const question = first.getByLabel('Question', { exact: true })
  await question.fill('never mind')
  await question.press('Escape')
  await first.getByText('What is one?').waitFor()
  await first.getByRole('button', { name: 'Edit the question' }).click()
  await question.fill('What is ten?')
  await first.getByRole('button', { name: 'Ask again' }).click()
  const talk = await nextTalk()
  t.match(talk.messages, [{ content: [{ text: 'What is ten?' }] }])
  t.equal(talk.messages.length, 1)
  talk.say('Also a')
  await page.getByRole('article').last().getByText('Also a').waitFor()
  t.equal(await page.getByRole('article').count(), 2)
  // It can be taken back, also while the model writes.
  const back = stored('Twice one.')
  await button(page, 'Undo').click()
  await page.getByRole('article').last().getByText('Twice one.').waitFor()
  await talk.closed
  await back
  t.equal(await page.getByRole('article').count(), 4)
  const [chat] = await storedChats(user)
  t.match((await storedChat(user, chat?.name ?? '')).messages, [
    { content: 'What is one?' },
    {},
    { content: 'And two?' },
    { content: 'Twice one.' },
  ])
  t.strictSame(faults, [])
})

t.test('conversations are found, and stand by their dates', { skip: needsChromium }, async (t) => {
  const { page, user, faults } = await openChat()
  const write = async (title: string, content: string, time?: string) => {
    const body = JSON.stringify({ messages: [{ role: 'user', content }] })
    const headers = time === undefined ? {} : { 'x-oc-mtime': String(Date.parse(time) / 1000) }
    const path = encodeURIComponent(`/chats/${title}.json`)
    t.ok((await user.fetch(`/write?path=${path}`, { method: 'PUT', headers, body })).ok)
  }
  await write('2026-01-02 The tides', 'The moon', '2020-03-04T12:00:00Z')
  await write('2026-01-03 Plum cake', 'Flour')
  await page.reload()
  const group = (name: string) => page.getByRole('list', { name, exact: true }).getByRole('link')
  await group('Today').getByText('Plum cake').waitFor()
  t.strictSame(await group('March 2020').allTextContents(), ['The tides'])
  const search = page.getByRole('searchbox', { name: 'Search conversations' })
  await search.fill('CAKE plum')
  await group('March 2020').waitFor({ state: 'detached' })
  t.strictSame(await group('Today').allTextContents(), ['Plum cake'])
  await search.fill('unheard of')
  await page.getByText('No conversation has these words.').waitFor()
  await untilTrue(
    page,
    "fetch('/api/search/status').then((answer) => answer.json()).then(({ isComplete }) => isComplete)",
  )
  await search.fill('moon')
  await group('March 2020').getByText('The tides').waitFor()
  t.equal(await group('Today').count(), 0)
  t.strictSame(faults, [])
})

t.test('two tabs do not overwrite each other', { skip: needsChromium }, async (t) => {
  const { page, context, user, faults, nextTalk } = await openChat()
  const kept = page.waitForResponse((answer) => answer.request().postData()?.includes('First.') ?? false)
  await say(page, 'Shared')
  await answer(nextTalk, 'First.')
  await button(page, 'Send').waitFor()
  await page.waitForURL(/Shared/)
  await kept
  const other = await context.newPage()
  await other.goto(page.url())
  await other.getByRole('article').last().getByText('First.').waitFor()
  const stored = other.waitForResponse((answer) => answer.request().postData()?.includes('Second.') ?? false)
  await say(other, 'from the other tab')
  await answer(nextTalk, 'Second.')
  await other.getByRole('article').last().getByText('Second.').waitFor()
  await stored
  await say(page, 'from the first tab')
  await page.getByText('was changed elsewhere').waitFor()
  await answer(nextTalk, 'Third.')
  await page.getByRole('heading', { name: 'Shared 2' }).waitFor()
  await page.getByRole('article').last().getByText('Third.').waitFor()
  await button(page, 'Send').waitFor()
  const names = (await storedChats(user)).map(({ name }) => name.slice(11))
  t.strictSame(names.sort(), ['Shared 2.json', 'Shared.json'])
  t.strictSame(faults, [])
})

t.test('the view stays where the person reads, on a phone too', { skip: needsChromium }, async (t) => {
  const { page, faults, nextTalk } = await openChat()
  await page.setViewportSize({ width: 360, height: 740 })
  // A page that begins on a small screen has the list of conversations closed.
  await page.reload()
  await page.getByLabel('Model').waitFor()
  // The conversation gets its file, and with it its name, while the person reads.
  const stored = Promise.withResolvers<void>()
  await page.route('**/write?*', async (route) => {
    await stored.promise
    await route.continue()
  })
  await say(page, 'A long text')
  const own = page.getByRole('article', { name: 'You' })
  await own.getByText('A long text').waitFor()
  const { width = 0 } = (await own.boundingBox()) ?? {}
  t.ok(width > 250, 'an own message has the width of the screen')
  const talk = await nextTalk()
  talk.say('line\n\n'.repeat(100))
  await untilTrue(page, "document.querySelectorAll('article p').length > 100")
  talk.say('seen at the end')
  await page.getByText('seen at the end').waitFor()
  await untilTrue(
    page,
    "(({ scrollHeight, scrollTop, clientHeight }) => scrollTop > 100 && scrollHeight - scrollTop - clientHeight < 40)(document.querySelector('.messages'))",
  )
  await page.evaluate("document.querySelector('.messages').scrollTo(0, 100)")
  // The browser may scroll, so that what is in view stays where it is.
  const place = () => page.evaluate("document.querySelectorAll('article p')[5].getBoundingClientRect().top")
  const before = Number(await place())
  stored.resolve()
  await page.getByRole('heading', { name: 'A long text', exact: true }).waitFor()
  talk.say(`\n\n# far below\n\nthe last`)
  talk.end()
  await page.getByRole('article').last().getByText('the last').waitFor()
  await button(page, 'Send').waitFor()
  const after = Number(await place())
  t.ok(Math.abs(after - before) <= 1, `a line stays at ${before} pixels: ${after}`)
  await say(page, 'Nested')
  await answer(nextTalk, `# nested\n\n${'> '.repeat(3000)}\n\nthe very last`)
  await page.getByRole('article').last().getByText('the very last').waitFor()
  t.ok(
    await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
    'nothing is wider than a phone',
  )
  t.strictSame(faults, [])
})

t.test('a hostile reply does not hold up the page', { skip: needsChromium }, async (t) => {
  const { page, context, user, faults, nextTalk } = await openChat()
  const cdp = await context.newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const cpuMs = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
  await page.setViewportSize({ width: 360, height: 740 })
  await say(page, 'Be hostile')
  const talk = await nextTalk()
  const start = await cpuMs()
  for (const piece of ['a_', '_a_']) talk.say(`${piece.repeat(16_000)}\n\n`)
  // Each mark is compared with all others, and each row of a table is filled up to the first one.
  talk.say(`${'*a_'.repeat(3000)}\n\n`)
  talk.say(`|${'a|'.repeat(1000)}\n|${'-|'.repeat(1000)}\n${'|b\n'.repeat(2000)}\n`)
  talk.say(`\`\`\`${'language'.repeat(100)}\ncode\n\`\`\`\n\nthe last`)
  talk.end()
  await page.getByRole('article').last().getByText('the last').waitFor()
  await button(page, 'Send').waitFor()
  const took = (await cpuMs()) - start
  t.ok(took < 500, `${Math.round(took)} ms of CPU time of the page`)
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
  await button(page, 'Copy').click({ trial: true })

  const content = JSON.stringify({
    messages: [{ role: 'assistant', content: '', model: { type: 'script' } }],
  })
  const written = await user.fetch('/write?path=/chats/no.json', { method: 'PUT', body: content })
  t.equal(written.status, 200)
  await page.evaluate("location.hash = '#/chat/no.json'")
  await page.getByText('This file is not a conversation.').waitFor()
  t.strictSame(faults, [])
})

t.test('without a model, the page says how to add one', { skip: needsChromium }, async (t) => {
  if (browser === null) return
  const node = await startChatNode(t)
  const owner = await openSignedInTab(browser, node, await node.signIn('owner'))
  await openPage(owner.page, 'Chat')
  await owner.page.getByText('With a key of OpenAI or Anthropic').click()
  await owner.page.getByText('OPENAI_API_KEY=').waitFor()
  await owner.context.close()
  const { page, faults } = await openSignedInTab(browser, node, await node.signIn())
  await page.clock.install()
  await page.getByRole('link', { name: 'Chat' }).click()
  await page.getByRole('heading', { name: 'No model answers' }).waitFor()
  await page.getByText('The owner of this node has to connect a model first.').waitFor()
  await page.getByRole('button', { name: 'Send', exact: true, disabled: true }).waitFor()
  await page.getByText('Nothing can be sent, because no model answers.').waitFor()
  const isModels = (answer: Response) => answer.url().endsWith('/api/ai/models')
  await Promise.all([page.waitForResponse(isModels), button(page, 'Look again').click()])
  await Promise.all([page.waitForResponse(isModels), page.clock.fastForward(15_000)])
  t.strictSame(faults, [])
})

t.test('the title of a conversation keeps joined letters and emoji', { skip: needsChromium }, async (t) => {
  const { page, user, nextTalk } = await openChat()
  const title = 'می\u200cخواهم 👩\u200d👩\u200d👧'
  const kept = page.waitForResponse((answer) => answer.request().postData()?.includes('Yes.') ?? false)
  await say(page, `\u200d${title}\n${'👩\u200d👩\u200d👧'.repeat(20)}`)
  await answer(nextTalk, 'Yes.')
  await kept
  const [stored] = await storedChats(user)
  t.match(stored?.name, new RegExp(`^\\S+ ${title} (👩\u200d👩\u200d👧)+\\.json$`), 'no emoji is split')
})
