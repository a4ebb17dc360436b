import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { headingId } from '../../action.ts'
import { EmptyState } from '../../empty-state.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { offerShare } from '../../sharing/share-dialog.ts'
import * as texts from '../../texts.ts'
import { deleteFiles } from '../files/deletion.ts'
import { downloadFile } from '../files/file-download.ts'
import type { MarkedEntries } from '../files/marked-entries.ts'
import type { Previews } from '../files/previews.ts'
import { TaskList } from '../files/task-list.ts'
import type { Tasks } from '../files/tasks.ts'
import type { ViewedFile } from '../files/viewed-file.ts'
import { Viewer } from '../files/viewer.ts'
import { DateScale, monthText } from './date-scale.ts'
import { PhotoFacts } from './photo-facts.ts'
import { type GridSizes, heightOf, placed, type VisibleMonth, visible } from './photo-layout.ts'
import { PhotoSelection } from './photo-selection.ts'
import { PhotoTile } from './photo-tile.ts'
import { PhotoUpload } from './photo-upload.ts'
import type { Photos } from './photos.ts'
import { SelectionBar } from './selection-bar.ts'

const words = texts.photos

/** Milliseconds that a month is in sight before it is loaded. */
const restMs = 80

interface PhotosViewProps {
  readonly page: PageContext
  readonly photos: Photos
  readonly previews: Previews
  /** The photos that have a link. */
  readonly linked: MarkedEntries
  readonly viewed: ViewedFile
  readonly tasks: Tasks
}

/** All pictures, under their months. */
export function PhotosView({ page, photos, previews, linked, viewed, tasks }: PhotosViewProps): VNode {
  const selection = useMemo(() => new PhotoSelection(), [])
  const remove = async (paths: readonly string[]): Promise<boolean> => {
    const [first, ...others] = paths
    if (first === undefined || !(await deleteFiles(page, tasks, [first, ...others]))) return false
    photos.forget(new Set(paths))
    selection.end()
    return true
  }
  const select = () => {
    if (selection.isOn.value) selection.end()
    else selection.isOn.value = true
  }
  const share = (path: string) => void offerShare({ path, type: 'file', hasPictures: true })
  const path = viewed.path.value
  const isEmpty = photos.months.value?.length === 0 && photos.isComplete.value
  return html`<section class="photos">
    <div class="page-head">
      <h1 id=${headingId} tabindex="-1">${words.title}</h1>
      <div class="toolbar">
        ${!isEmpty && html`<button type="button" aria-pressed=${selection.isOn.value} onClick=${select}>${icon('circle-check')}${texts.files.select}</button>`}
        <${PhotoUpload} page=${page} tasks=${tasks} />
      </div>
    </div>
    <p class="fault" role="alert">${photos.fault.value}</p>
    <p class="hint" role="status">${statusText(photos)}</p>
    ${
      isEmpty
        ? html`<${EmptyState} icon="image" title=${words.emptyTitle} text=${words.emptyText(words.folder)} />`
        : html`<${PhotoGrid} photos=${photos} selection=${selection} onOpen=${(path: string) => viewed.open(path)} />`
    }
    <${TaskList} tasks=${tasks} />
    <${SelectionBar} page=${page} selection=${selection} onDelete=${remove} />
  </section>
  ${
    path !== null &&
    html`<${Viewer}
      viewed=${viewed}
      previous=${photos.beside(path, -1)}
      next=${photos.beside(path, 1)}
      onDownload=${(path: string) => downloadFile(page, path)}
      onDelete=${(path: string) => remove([path])}
      onShare=${linked.isOffered.value ? share : undefined}
      previews=${previews}
      page=${page}
    >
      <${PhotoFacts} path=${path} photo=${photos.get(path)} page=${page} />
    <//>`
  }`
}

interface PhotoGridProps {
  readonly photos: Photos
  readonly selection: PhotoSelection
  readonly onOpen: (path: string) => void
}

/** The months, of which only what can be seen exists, so that many photos stay smooth. */
function PhotoGrid({ photos, selection, onOpen }: PhotoGridProps): VNode {
  const scroller = useRef<HTMLDivElement>(null)
  const view = useSignal({
    top: 0,
    height: 0,
    sizes: { columns: 1, row: 1, head: 1 } satisfies GridSizes as GridSizes,
  })
  const measure = () => {
    const element = scroller.current
    if (element === null) return
    view.value = { top: element.scrollTop, height: element.clientHeight, sizes: sizesOf(element) }
  }
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure)
    if (scroller.current !== null) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [])
  const { top, height, sizes } = view.value
  const list = photos.months.value
  const months = useMemo(() => placed(list ?? [], sizes), [list, sizes.columns, sizes.row, sizes.head])
  const shown = height === 0 ? [] : visible(months, sizes, { top, height })
  const wanted = shown.map(({ month }) => month)
  useLayoutEffect(() => {
    // Months that only pass by are not loaded.
    const want = () => {
      for (const month of wanted) void photos.want(month)
    }
    const timer = setTimeout(want, photos.loaded.peek().size === 0 ? 0 : restMs)
    return () => clearTimeout(timer)
  }, [list, wanted.join()])
  const scroll = (to: number) => scroller.current?.scrollTo(0, to)
  const press = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -sizes.columns,
      ArrowDown: sizes.columns,
    }
    const by = steps[event.key]
    const links = [...(scroller.current?.querySelectorAll<HTMLElement>('li a') ?? [])]
    const at = links.indexOf(document.activeElement as HTMLElement)
    if (event.key === 'Escape') selection.end()
    else if (event.key === ' ' && at >= 0) links[at]?.closest('li')?.querySelector('input')?.click()
    else if (by !== undefined && at >= 0) links[at + by]?.focus()
    else return
    event.preventDefault()
  }
  return html`<div class=${`months ${selection.isOn.value ? 'selecting' : ''}`} onKeyDown=${press}>
    <div class="scroller" ref=${scroller} onScroll=${measure}>
      <div class="all" style=${{ height: `${heightOf(months)}px` }}>
        ${shown.map((month) => html`<${MonthSection} key=${month.month} ...${{ month, sizes, photos, selection, onOpen }} />`)}
      </div>
    </div>
    <${DateScale} months=${months} top=${top} height=${height} onScroll=${scroll} />
  </div>`
}

interface MonthSectionProps extends PhotoGridProps {
  readonly month: VisibleMonth
  readonly sizes: GridSizes
}

function MonthSection({ month: placed, sizes, photos, selection, onOpen }: MonthSectionProps): VNode {
  const { month, top, height, from, to } = placed
  const loaded = photos.loaded.value.get(month) ?? []
  const title = monthText(month)
  const tiles = Array.from({ length: to - from }, (_, i) => loaded[from + i])
  return html`<section aria-label=${title} style=${{ top: `${top}px`, height: `${height}px` }}>
    <h2>${title}</h2>
    <ul style=${{ gridTemplateColumns: `repeat(${sizes.columns}, minmax(0, 1fr))`, transform: `translateY(${(from / sizes.columns) * sizes.row}px)` }}>
      ${tiles.map((photo, i) =>
        photo === undefined
          ? html`<li key=${from + i} class="to-come"></li>`
          : html`<${PhotoTile}
              key=${photo.path}
              photo=${photo}
              isSelected=${selection.paths.value.has(photo.path)}
              isSelecting=${selection.isOn.value}
              onOpen=${() => onOpen(photo.path)}
              onToggle=${() => selection.toggle(photo)}
              onRange=${() => selection.upTo(photo, photos.all)}
            />`,
      )}
    </ul>
  </section>`
}

/** Reads the sizes that the stylesheet sets for the width of the window. */
function sizesOf(element: HTMLElement): GridSizes {
  const style = getComputedStyle(element)
  const number = (name: string) => Number.parseFloat(style.getPropertyValue(name))
  const gap = number('--gap')
  const columns = Math.max(1, Math.round((element.clientWidth + gap) / (number('--tile') + gap)))
  const tile = (element.clientWidth - gap * (columns - 1)) / columns
  return { columns, row: tile + gap, head: number('--head') }
}

function statusText({ months, fault, isComplete }: Photos): string {
  if (fault.value !== '') return ''
  if (months.value === null) return texts.shell.loading
  return isComplete.value ? '' : words.reading
}
