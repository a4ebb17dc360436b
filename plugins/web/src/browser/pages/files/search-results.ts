import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { chatAddress, titleOf } from '../../chat-address.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText, shortDateText } from '../../times.ts'
import type { EntryActions } from './entry-actions.ts'
import { EntryPicture } from './entry-picture.ts'
import type { Folder } from './folder.ts'
import { contentAddress, folderAddress, folderOf } from './paths.ts'
import type { Previews } from './previews.ts'
import { type Found, type Kind, kinds, type Search } from './search.ts'

const words = texts.search

interface SearchResultsProps {
  readonly search: Search
  readonly folder: Folder
  readonly actions: EntryActions
  readonly previews: Previews
  readonly onClose: () => void
}

/** The files and folders that were found, with what they are chosen by. */
export function SearchResults({ search, folder, actions, previews, onClose }: SearchResultsProps): VNode {
  const found = search.found.value
  const { value: unread } = search.unread
  return html`<section class="results" aria-label=${words.title}>
    <${Choices} search=${search} folder=${folder} onClose=${onClose} />
    <p class="fault" role="alert">${search.fault.value}</p>
    <p class="hint" role="status">${statusText(search)}</p>
    <p class="hint" role="status">${unread !== null && words.unread(unread)}</p>
    <ul aria-label=${words.title}>
      ${found?.map(
        (entry) =>
          html`<${Result} key=${entry.path} entry=${entry} ...${{ search, folder, actions, previews }} />`,
      )}
    </ul>
    ${search.next.value !== null && html`<button type="button" onClick=${() => search.more()}>${words.more}</button>`}
  </section>`
}

function Choices({
  search,
  folder,
  onClose,
}: Pick<SearchResultsProps, 'search' | 'folder' | 'onClose'>): VNode {
  const choose = ({ currentTarget }: Event) => {
    const { value } = currentTarget as HTMLSelectElement
    search.choose(value === '' ? null : (value as Kind))
  }
  const chooseOnlyHere = ({ currentTarget }: Event) =>
    search.chooseOnlyHere((currentTarget as HTMLInputElement).checked)
  return html`<p class="choices">
    <select aria-label=${words.kind} value=${search.kind.value ?? ''} onChange=${choose}>
      <option value="">${words.all}</option>
      ${kinds.map((kind) => html`<option key=${kind} value=${kind}>${words.kinds[kind]}</option>`)}
    </select>
    ${
      folder.path.value !== '/' &&
      html`<label class="choice">
        <input type="checkbox" checked=${search.isOnlyHere.value} onChange=${chooseOnlyHere} /> ${words.onlyHere}
      </label>`
    }
    <button type="button" class="quiet icon-only" aria-label=${words.close} title=${words.close} onClick=${onClose}>${icon('x')}</button>
  </p>`
}

interface ResultProps extends Pick<SearchResultsProps, 'search' | 'folder' | 'actions' | 'previews'> {
  readonly entry: Found
}

function Result({ entry, search, folder, actions, previews }: ResultProps): VNode {
  const { path, name, type, size, modified, snippet } = entry
  const isFolder = type === 'folder'
  const chat = search.chatIn(entry)
  const parent = folderOf(path)
  const openFile = (event: MouseEvent) => {
    event.preventDefault()
    if (event.shiftKey || event.ctrlKey || event.metaKey) return
    actions.viewed.open(path)
  }
  return html`<li>
    ${
      chat === null
        ? html`<${EntryPicture} entry=${{ name, type: isFolder ? 'directory' : 'file' }} path=${path} previews=${previews} />`
        : html`<span class="picture">${icon('message-square')}</span>`
    }
    <div>
      ${
        chat === null
          ? html`<a class="alone name" href=${isFolder ? folderAddress(path) : contentAddress(path)} onClick=${isFolder ? undefined : openFile}><bdi>${shownName(name)}</bdi></a>`
          : html`<a class="alone name" href=${chatAddress(chat)}><bdi>${shownName(titleOf(chat))}</bdi></a>`
      }
      <p class="facts hint">
        <span>${words.folder} <a href=${folderAddress(parent)} onClick=${() => folder.goTo(path, true)}><bdi>${parent === '/' ? texts.files.home : shownName(parent)}</bdi></a></span>
        <span>${chat !== null ? words.isChat : isFolder ? words.isFolder : bytesText(size)}</span>
        ${modified !== null && html`<time dateTime=${modified} title=${dateText(modified)}>${shortDateText(modified)}</time>`}
      </p>
      ${snippet !== null && html`<p class="snippet" dir="auto">${snippet.map(pieceOf)}</p>`}
    </div>
  </li>`
}

/** Returns a piece of a snippet on one line. The words that were found are marked. */
function pieceOf({ text, isMatch }: NonNullable<Found['snippet']>[number]): VNode | string {
  const shown = shownName(text.replace(/\s+/g, ' '))
  return isMatch ? html`<mark>${shown}</mark>` : shown
}

function statusText({ found, next, fault }: Search): string {
  if (fault.value !== '') return ''
  if (found.value === null) return texts.shell.loading
  return found.value.length === 0 ? words.nothing : words.found(found.value.length, next.value !== null)
}
