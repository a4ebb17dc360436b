/** An entry that was dropped or chosen. */
export interface Dropped {
  /** The path below the folder where it was dropped, such as `trip/cat.jpg`. */
  readonly path: string
  /** A file, an empty folder, or an entry that the browser cannot read. */
  readonly content: File | 'folder' | 'unreadable'
}

/**
 * Finds all files of a drop, also those in folders. An entry that cannot be read costs nothing but itself. Call it while the
 * event is handled: later, the drop is empty.
 */
export async function droppedFiles({ items }: Pick<DataTransfer, 'items'>): Promise<Dropped[]> {
  const roots = [...items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  const found: Dropped[] = []
  for (const root of roots) await find(root, root.name, found)
  return found
}

/** The files of a form field; a field for folders tells the paths within the chosen one. */
export function chosenFiles(files: Iterable<File>): Dropped[] {
  return Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, content: file }))
}

/** Adds an entry, or what is in it. */
async function find(entry: FileSystemEntry, path: string, found: Dropped[]): Promise<void> {
  try {
    if (entry.isFile) {
      const content = await new Promise<File>((resolve, reject) =>
        (entry as FileSystemFileEntry).file(resolve, reject),
      )
      found.push({ path, content })
      return
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader()
    let isEmpty = true
    // A browser gives at most 100 entries at a time, and an empty list at the end.
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
        reader.readEntries(resolve, reject),
      )
      if (some.length === 0) break
      isEmpty = false
      for (const child of some) await find(child, `${path}/${child.name}`, found)
    }
    if (isEmpty) found.push({ path, content: 'folder' })
  } catch {
    found.push({ path, content: 'unreadable' })
  }
}
