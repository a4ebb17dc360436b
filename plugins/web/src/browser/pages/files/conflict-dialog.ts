import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { Dialog } from '../../questions.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText } from '../../times.ts'
import { statOf } from './entry-operations.ts'
import { timeOf } from './file-time.ts'
import { folderOf, nameOf, previewAddress } from './paths.ts'
import type { Previews } from './previews.ts'
import type { IfExists, Task, Tasks } from './tasks.ts'

const words = texts.files.conflict

interface ConflictDialogProps {
  readonly tasks: Tasks
  readonly previews: Previews
  readonly page: PageContext
}

/** Asks, one after the other, about what is at a destination already. It shows both, so that the person can choose. */
export function ConflictDialog({ tasks, previews, page }: ConflictDialogProps): VNode | null {
  const isForAll = useSignal(false)
  tasks.version.value
  const asking = tasks.list.value.filter(({ state }) => state.peek().is === 'exists')
  const [task] = asking
  const isNeeded = task !== undefined
  useLayoutEffect(() => {
    // While the person is in another dialog or looks at a file, the line of the tasks asks.
    if (isNeeded && document.querySelector('dialog[open], .viewer') === null) tasks.isAsking.value = true
    return () => {
      tasks.isAsking.value = false
    }
  }, [isNeeded])
  if (task === undefined || !tasks.isAsking.value) return null
  const answer = (ifExists: IfExists) => {
    if (isForAll.value) tasks.answerAll(ifExists)
    else tasks.answer(task, ifExists)
    isForAll.value = false
  }
  const choose = ({ currentTarget }: Event) => {
    isForAll.value = (currentTarget as HTMLInputElement).checked
  }
  const later = () => {
    tasks.isAsking.value = false
  }
  const { path, source } = task.work
  const name = shownName(nameOf(path))
  const sides = { page, previews }
  return html`<${Dialog} title=${words.title(name)} onClose=${later}>
    <p class="hint">${words.folder(folderOf(path) === '/' ? texts.files.home : shownName(folderOf(path)))}</p>
    <div class="conflict" key=${task}>
      <${StoredSide} ...${sides} title=${words.present} path=${path} />
      ${
        source instanceof File
          ? html`<${DeviceSide} title=${words.coming} file=${source} />`
          : source !== undefined && html`<${StoredSide} ...${sides} title=${words.coming} path=${source} />`
      }
    </div>
    ${
      hasOthers(task, asking) &&
      html`<label class="choice">
        <input type="checkbox" checked=${isForAll.value} onChange=${choose} />
        ${words.forAll(asking.length - 1)}
      </label>`
    }
    <p class="buttons">
      <button type="button" class="quiet" onClick=${() => answer('skip')}>${texts.files.skip}</button>
      <button type="button" onClick=${() => answer('replace')}>${texts.files.replace}</button>
      <button type="button" class="main" autofocus onClick=${() => answer('keepBoth')}>${texts.files.keepBoth}</button>
    </p>
  <//>`
}

/** Whether an answer for all has something else to answer, now or later. */
function hasOthers({ group }: Task, asking: readonly Task[]): boolean {
  return asking.length > 1 || group.open > 1
}

interface StoredSideProps extends Omit<ConflictDialogProps, 'tasks'> {
  readonly title: string
  readonly path: string
}

/** A file or folder of the node. */
function StoredSide({ title, path, previews, page }: StoredSideProps): VNode {
  const facts = useSignal<{ readonly bytes: number | null; readonly time: Date } | null>(null)
  useLayoutEffect(() => {
    statOf(page, path)
      .then((stat) => {
        if (stat === null) return
        facts.value = { bytes: stat.revision === null ? null : stat.size, time: new Date(stat.modified) }
      })
      // The name tells enough to decide.
      .catch(() => {})
  }, [])
  const picture = previews.mayHave(path) ? previewAddress(path, 'small') : null
  return html`<${Side} title=${title} picture=${picture} bytes=${facts.value?.bytes ?? null} time=${facts.value?.time ?? null} />`
}

/** A file of the device. */
function DeviceSide({ title, file }: { title: string; file: File }): VNode {
  const picture = useSignal<string | null>(null)
  useLayoutEffect(() => {
    if (!file.type.startsWith('image/')) return
    const address = URL.createObjectURL(file)
    picture.value = address
    return () => URL.revokeObjectURL(address)
  }, [])
  return html`<${Side} title=${title} picture=${picture.value} bytes=${file.size} time=${timeOf(file)} />`
}

interface SideProps {
  readonly title: string
  /** The address of a picture of it; `null` if there is none. */
  readonly picture: string | null
  readonly bytes: number | null
  readonly time: Date | null
}

function Side({ title, picture, bytes, time }: SideProps): VNode {
  const isMissing = useSignal(false)
  const miss = () => {
    isMissing.value = true
  }
  return html`<section aria-label=${title}>
    <h3>${title}</h3>
    <div class="picture">
      ${picture === null || isMissing.value ? icon('file') : html`<img src=${picture} alt="" onError=${miss} />`}
    </div>
    <p>${bytes === null ? '' : bytesText(bytes)}</p>
    <p class="note">${time !== null && html`<time dateTime=${time.toISOString()}>${dateText(time.toISOString())}</time>`}</p>
  </section>`
}
