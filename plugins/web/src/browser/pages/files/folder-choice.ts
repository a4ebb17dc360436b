import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { ask, Dialog } from '../../questions.ts'
import { reasonOf, request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { byName, sorted } from './entry-order.ts'
import { type Entry, listFolder } from './listing.ts'
import { nameFault } from './names.ts'
import { folderOf, isWithin, pathIn } from './paths.ts'

interface FolderQuestion {
  readonly title: string
  /** The text of the button that agrees. */
  readonly agree: string
  /** The folder that is shown first. */
  readonly start: string
  /** Whether the folder must be another than the first. */
  readonly other: boolean
  /** The paths of what goes into the folder: they, and what is in them, cannot be chosen. */
  readonly goes?: readonly string[]
}

/** The id of the reason why the folder cannot be chosen. */
const reasonId = 'folder-choice-reason'

const asked = signal<(FolderQuestion & { answer(path: string | null): void }) | null>(null)

/** Asks the person for a folder, and resolves to its path; to `null` if the person cancels. */
export function chooseFolder(question: FolderQuestion): Promise<string | null> {
  asked.value?.answer(null)
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer(path) {
        asked.value = null
        resolve(path)
      },
    }
  })
}

/** Shows the question for a folder that is asked. */
export function FolderChoice({ page }: { page: PageContext }): VNode | null {
  const question = asked.value
  // A page that ends takes its question along.
  useLayoutEffect(() => () => asked.value?.answer(null), [])
  return question && html`<${Choice} question=${question} page=${page} />`
}

interface ChoiceProps {
  readonly question: NonNullable<typeof asked.value>
  readonly page: PageContext
}

function Choice({ question, page }: ChoiceProps): VNode {
  const path = useSignal(question.start)
  const folders = useSignal<readonly Entry[] | null>(null)
  const fault = useSignal('')
  const list = useRef<HTMLUListElement>(null)
  useLayoutEffect(() => {
    const leaving = new AbortController()
    folders.value = null
    fault.value = ''
    listFolder(page, path.value, leaving.signal)
      .then(({ entries }) => {
        folders.value = sorted(
          entries.filter(({ type }) => type === 'directory'),
          byName,
        )
      })
      .catch((error: Error) => {
        if (!leaving.signal.aborted) fault.value = error.message
      })
    return () => leaving.abort()
  }, [path.value])
  const open = (to: string) => {
    path.value = to
    // The button that was pressed goes away.
    list.current?.focus()
  }
  const makeFolder = async () => {
    const parent = path.value
    const name = await ask({
      title: texts.files.newFolder,
      field: { label: texts.files.folderName, value: '' },
      agree: texts.files.create,
      check: (name) => nameFault(name) ?? made(page, pathIn(parent, name)),
    })
    if (name !== null) open(pathIn(parent, name))
  }
  const { title, agree, start, other, goes = [], answer } = question
  const isHere = other && path.value === start
  return html`<${Dialog} title=${title} onClose=${() => answer(null)}>
    <div class="folder-choice">
      <p class="where">
        <button type="button" class="quiet icon-only" aria-label=${texts.files.up} title=${texts.files.up} disabled=${path.value === '/'} onClick=${() => open(folderOf(path.value))}>${icon('arrow-left')}</button>
        <bdi>${path.value === '/' ? texts.files.home : shownName(path.value)}</bdi>
      </p>
      <ul ref=${list} tabindex="-1" aria-label=${texts.files.folders}>
        ${folders.value?.map(({ name }) => {
          const at = pathIn(path.value, name)
          const isItself = goes.some((one) => isWithin(at, one))
          return html`<li key=${name}>
            <button type="button" class="quiet" disabled=${isItself} title=${isItself ? texts.files.isItself : undefined} onClick=${() => open(at)}>${icon('folder')}<bdi>${shownName(name)}</bdi></button>
          </li>`
        })}
      </ul>
      <p class="hint">${folders.value?.length === 0 && texts.files.noFolders}</p>
      <p class="hint" id=${reasonId}>${isHere && texts.files.isHere}</p>
      <p class="fault" role="alert">${fault.value}</p>
    </div>
    <p class="buttons">
      <button type="button" class="quiet first" onClick=${makeFolder}>${icon('folder-plus')}${texts.files.newFolder}</button>
      <button type="button" onClick=${() => answer(null)}>${texts.cancel}</button>
      <button
        type="button"
        class="main"
        disabled=${fault.value !== '' || isHere}
        aria-describedby=${reasonId}
        onClick=${() => answer(path.value)}
      >
        ${agree}
      </button>
    </p>
  <//>`
}

/** Makes a folder, and returns the reason why it failed, or `null`. */
async function made(page: PageContext, path: string): Promise<string | null> {
  try {
    await request(page, 'POST /mkdir', { body: { path } })
    return null
  } catch (error) {
    return reasonOf(error)
  }
}
