import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { ask } from '../../questions.ts'
import { accepted } from '../../refusal.ts'
import { reasonOf } from '../../request.ts'
import { forgetShared, keptShared } from '../../shared-files.ts'
import { offerShare } from '../../sharing/share-dialog.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { downloadArchive } from './archive-download.ts'
import { carImport } from './car-import.ts'
import type { Dropped } from './dropped-files.ts'
import { EntryClipboard } from './entry-clipboard.ts'
import { kindOf } from './entry-kind.ts'
import { copy, move, newFolder, removal, unreadable } from './entry-operations.ts'
import { canBeRead, downloadFile, save } from './file-download.ts'
import type { Folder } from './folder.ts'
import { chooseFolder } from './folder-choice.ts'
import { undoHeader } from './last-change.ts'
import type { Entry } from './listing.ts'
import type { EntryMarks } from './marked-entries.ts'
import { nameFault, stemLength } from './names.ts'
import { archiveAddress, folderOf, nameOf, pathIn } from './paths.ts'
import { offerPublishing } from './publish-dialog.ts'
import type { StoredCheck } from './stored-check.ts'
import type { Tasks } from './tasks.ts'
import { toldOf } from './told.ts'
import { upload } from './upload.ts'
import type { ViewSettings } from './view-settings.ts'
import { ViewedFile } from './viewed-file.ts'

/** The actions of a person in the folder that is shown. */
export class EntryActions {
  /** The list of the entries. It gets the focus after an action. */
  readonly rows: { current: HTMLElement | null } = { current: null }
  /** The file whose content is shown. */
  readonly viewed: ViewedFile
  /** The path of the file whose versions are shown, or `null`. */
  readonly versionsOf = signal<string | null>(null)
  /** Whether the keys are explained. */
  readonly explainsKeys = signal(false)
  /** The fields by which a person chooses what to upload. */
  readonly choosers: Readonly<Record<'files' | 'folder' | 'photo', { current: HTMLInputElement | null }>> = {
    files: { current: null },
    folder: { current: null },
    photo: { current: null },
  }
  readonly #page: PageContext
  readonly #folder: Folder
  readonly #tasks: Tasks
  readonly #marks: EntryMarks
  readonly #settings: ViewSettings
  readonly #clipboard: EntryClipboard
  /** The path of the entry that is selected for its details only, or `null`. */
  #detailed: string | null = null

  constructor(page: PageContext, folder: Folder, tasks: Tasks, marks: EntryMarks, settings: ViewSettings) {
    this.viewed = new ViewedFile(page, 'files')
    this.#page = page
    this.#folder = folder
    this.#tasks = tasks
    this.#marks = marks
    this.#settings = settings
    this.#clipboard = new EntryClipboard(page, {
      selected: () => (this.rows.current === null ? [] : this.selectedPaths()),
      pasteFiles: (files) => this.upload(files),
      pasteEntries: (paths, how) => this.transfer(paths, this.#folder.path.value, how),
    })
  }

  /** Whether the trash keeps what is deleted in the folder. */
  get hasTrash(): boolean {
    return this.#folder.keeps.value.trash
  }

  /** The paths of the selected entries. */
  selectedPaths(): readonly string[] {
    return this.#folder.selection.entries.value.map(({ name }) => this.#pathOf(name))
  }

  /** Whether an entry was cut, and waits to be pasted. */
  isCut(path: string): boolean {
    return this.#clipboard.cut.value.has(path)
  }

  open({ name, type }: Entry): void {
    if (type === 'directory') this.#page.navigate(`/files${this.#pathOf(name)}`)
    else this.view(this.#pathOf(name))
  }

  /** Shows the content of a file. */
  view(path: string): void {
    this.viewed.open(path)
  }

  /** Opens the folder above. */
  openParent(): void {
    this.#page.navigate(`/files${folderOf(this.#folder.path.value)}`)
  }

  /** Lets the person choose what to upload. */
  choose(what: 'files' | 'folder' | 'photo'): void {
    this.choosers[what].current?.click()
  }

  /** Shows the details of what is selected, or of the folder. */
  showDetails(): void {
    this.#settings.showsDetails.value = true
  }

  /** Shows the details of an entry. If it is not selected, it is until they are closed. */
  showDetailsOf(entry: Entry): void {
    const { selection } = this.#folder
    if (!selection.has(entry)) {
      selection.onlyKey(entry.name)
      this.#detailed = this.#pathOf(entry.name)
    }
    this.showDetails()
  }

  closeDetails(): void {
    this.#settings.showsDetails.value = false
    const [path, ...others] = this.selectedPaths()
    if (path === this.#detailed && others.length === 0) this.#folder.selection.none()
    this.#detailed = null
    this.focusRows()
  }

  showKeys(): void {
    this.explainsKeys.value = true
  }

  /** @param folder default: the folder that is shown */
  upload(files: readonly Dropped[], folder = this.#folder.path.value): void {
    this.#tasks.add(
      files.map(({ path, content }) => {
        const to = pathIn(folder, path)
        if (content === 'unreadable') return unreadable(path, to)
        if (content === 'folder') return newFolder(this.#page, to)
        return upload(this.#page, to, content, this.#folder.maxFileSize)
      }),
      toldOf(texts.files.done.uploaded),
    )
  }

  /** Uploads what a check has not found, into a folder that the person chooses. */
  async uploadMissing(check: StoredCheck): Promise<void> {
    const missing = check.missing.value
    const folder = await chooseFolder({
      title: texts.check.uploadTo,
      agree: texts.check.uploadHere,
      start: this.#folder.path.value,
      other: false,
    })
    if (folder === null) return
    check.close()
    this.#tasks.add(
      missing.flatMap(({ path, content }) =>
        content instanceof File
          ? [upload(this.#page, pathIn(folder, path), content, this.#folder.maxFileSize)]
          : [],
      ),
      toldOf(texts.files.done.uploaded),
    )
  }

  /** Uploads what another program of the device has shared, into a folder that the person chooses. */
  async uploadShared(): Promise<void> {
    const { files, leftOut } = await keptShared()
    if (leftOut > 0) this.#page.notice(texts.shared.leftOut(leftOut), 'error')
    if (files.length > 0) {
      const folder = await chooseFolder({
        title: texts.shared.title(files.length),
        agree: texts.check.uploadHere,
        start: this.#folder.path.value,
        other: false,
      })
      if (folder !== null)
        this.#tasks.add(
          files.map((file) => upload(this.#page, pathIn(folder, file.name), file, this.#folder.maxFileSize)),
          toldOf(texts.files.done.uploaded),
        )
    }
    await forgetShared()
  }

  /** Imports what a CAR file contains into the folder that is shown. */
  importCar(file: File): void {
    this.#tasks.add([carImport(this.#page, this.#folder.path.value, file)])
  }

  /** Moves the focus to the list when the dialog that is open has gone. */
  focusRows(): void {
    requestAnimationFrame(() => this.rows.current?.focus({ preventScroll: true }))
  }

  async makeFolder(): Promise<void> {
    await ask({
      title: texts.files.newFolder,
      field: { label: texts.files.folderName, value: '' },
      agree: texts.files.create,
      check: (name) =>
        nameFault(name) ?? this.#changed(texts.files.done.made, name, () => this.#folder.makeFolder(name)),
    })
    this.focusRows()
  }

  /** Makes an empty text, and opens its editor. */
  async makeText(): Promise<void> {
    const name = await ask({
      title: texts.files.newText,
      field: {
        label: texts.files.textName,
        value: texts.files.textNamed,
        selected: stemLength(texts.files.textNamed),
      },
      agree: texts.files.create,
      check: (name) =>
        nameFault(name) ?? this.#changed(texts.files.done.madeText, name, () => this.#folder.makeText(name)),
    })
    this.focusRows()
    if (name === null) return
    const path = this.#pathOf(name)
    // A text that has words is not taken back like an empty one.
    this.viewed.onChange = (changed) => {
      if (changed !== path) return
      this.#tasks.lastChange.clear()
      this.viewed.onChange = () => {}
    }
    this.viewed.edit(path)
  }

  async rename(entry: Entry): Promise<void> {
    await ask({
      title: texts.files.of(texts.files.rename, shownName(entry.name)),
      field: {
        label: texts.files.newName,
        value: entry.name,
        // A name that is typed over the extension would lose it.
        ...(entry.type === 'file' && { selected: stemLength(entry.name) }),
      },
      agree: texts.files.rename,
      check: (name) => {
        if (name === entry.name.trim()) return null
        return (
          nameFault(name) ??
          this.#changed(texts.files.done.renamed, name, () => this.#folder.rename(entry, name))
        )
      },
    })
    this.focusRows()
  }

  async delete(entries: readonly Entry[]): Promise<void> {
    const [first] = entries
    if (first === undefined) return
    const paths = entries.map(({ name }) => this.#pathOf(name))
    if (this.hasTrash || (await this.#agreesToLose(entries, first))) {
      this.#tasks.add(
        paths.map((path) => removal(this.#page, path)),
        toldOf(texts.files.done.deleted),
      )
    }
    this.focusRows()
  }

  /** Asks before a deletion that nothing takes back. */
  async #agreesToLose(entries: readonly Entry[], first: Entry): Promise<boolean> {
    const title =
      entries.length === 1
        ? texts.files.deleteTitle(shownName(first.name))
        : texts.files.deleteSeveral(entries.length)
    const hasFolder = entries.some(({ type }) => type === 'directory')
    const text = hasFolder ? texts.files.deleteFolder : texts.files.deleteFile
    return (await ask({ title, text, agree: texts.files.deleteForGood, danger: true })) !== null
  }

  /** Takes back the last change. */
  async undo(): Promise<void> {
    await this.#tasks.lastChange.takeBack()
  }

  async move(entries: readonly Entry[]): Promise<void> {
    await this.#transferChosen(entries, 'move')
  }

  async copy(entries: readonly Entry[]): Promise<void> {
    await this.#transferChosen(entries, 'copy')
  }

  /** Moves or copies entries into a folder that the person chooses. */
  async #transferChosen(entries: readonly Entry[], how: 'move' | 'copy'): Promise<void> {
    const [first, ...others] = entries.map(({ name }) => name)
    if (first === undefined) return
    const isCopy = how === 'copy'
    const paths = entries.map(({ name }) => this.#pathOf(name))
    const to = await chooseFolder({
      title: toldOf(isCopy ? texts.files.copyTitle : texts.files.moveTitle)([first, ...others]),
      agree: isCopy ? texts.files.copyHere : texts.files.moveHere,
      start: this.#folder.path.value,
      other: !isCopy,
      goes: paths,
    })
    if (to !== null) this.transfer(paths, to, how)
    this.focusRows()
  }

  /** Moves or copies entries into a folder. Those that would be moved to where they are stay there. */
  transfer(paths: readonly string[], folder: string, how: 'move' | 'copy'): void {
    const isCopy = how === 'copy'
    const [work, done] = isCopy ? [copy, texts.files.done.copied] : [move, texts.files.done.moved]
    const others = paths.filter((path) => isCopy || folderOf(path) !== folder)
    if (others.length === 0) return
    this.#tasks.add(
      others.map((path) => work(this.#page, path, folder)),
      toldOf(done),
    )
  }

  async publish({ name, type, size = 0 }: Entry): Promise<void> {
    await offerPublishing({ path: this.#pathOf(name), size: type === 'file' ? size : null })
    this.focusRows()
    await this.#marks.published.refresh()
  }

  async share({ name, type }: Pick<Entry, 'name' | 'type'>): Promise<void> {
    await this.sharePath(this.#pathOf(name), type)
    this.focusRows()
  }

  /** Offers a link to an entry. */
  async sharePath(path: string, type: Entry['type']): Promise<void> {
    const hasPictures = ['folder', 'picture'].includes(kindOf({ name: nameOf(path), type }))
    await offerShare({ path, type, hasPictures })
    await this.#marks.linked.refresh()
  }

  /** Lets the browser save a file, or anything else as one archive. It streams them to the disk. */
  async download(entries: readonly Pick<Entry, 'name' | 'type'>[]): Promise<void> {
    const [first] = entries
    if (first === undefined) return
    const paths = entries.map(({ name }) => this.#pathOf(name))
    if (entries.length > 1) {
      if (await canBeRead(this.#page, this.#folder.path.value)) downloadArchive(this.#page, paths)
      return
    }
    const path = this.#pathOf(first.name)
    if (first.type === 'file') await downloadFile(this.#page, path)
    else if (await canBeRead(this.#page, path)) save(archiveAddress(path), `${first.name}.zip`)
  }

  showVersions({ name }: Entry): void {
    this.showVersionsOf(this.#pathOf(name))
  }

  showVersionsOf(path: string): void {
    this.versionsOf.value = path
  }

  closeVersions(): void {
    this.versionsOf.value = null
    this.focusRows()
  }

  /**
   * Makes a version the content of the file again, and closes the list of them.
   *
   * @throws Refusal; TypeError if the node does not answer
   */
  async restoreVersion(path: string, id: string): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify({ path, id }) }
    const answer = await accepted(await this.#page.fetch('/api/files/versions/restore', init))
    const told = toldOf(texts.files.done.restored)([nameOf(path)])
    this.#tasks.lastChange.tell(told, answer.headers.get(undoHeader))
    this.#folder.refreshSoon()
    this.closeVersions()
  }

  /**
   * Makes a change, says what was done, and offers to take it back.
   *
   * @param change resolves to the group that takes it back; to `null` if nothing does
   * @returns the reason why the change failed, or `null`
   */
  async #changed(
    done: (entry: string) => string,
    name: string,
    change: () => Promise<string | null>,
  ): Promise<string | null> {
    try {
      this.#tasks.lastChange.tell(toldOf(done)([name]), await change())
      return null
    } catch (error) {
      return reasonOf(error)
    }
  }

  #pathOf(name: string): string {
    return pathIn(this.#folder.path.value, name)
  }
}
