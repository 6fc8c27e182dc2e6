/**
 * The page's side of the layout worker. The worker comes from a Blob URL, because a notebook page has no second
 * URL to load it from; where a content security policy forbids that, the same engine runs on this thread.
 * One request runs at a time; the rest wait here, where a newer one can still replace them.
 */
import packedWorker from "./worker.ts?worker";
import { unzipped } from "../unzip";
import { LayoutEngine } from "./compound";
import type { Reply, Request } from "./messages";
import type { LayoutInput, LayoutResult } from "./types";

/** A newer request took this one's place: not a failure, nothing to show. */
export class Superseded extends Error {
  override readonly name = "Superseded";
}

export interface RunOptions {
  /** Drops earlier requests of the same channel, waiting or running: they reject with Superseded. */
  newestWins?: boolean;
  /** Requests of different channels (the before and the after pane, say) never drop each other. */
  channel?: string;
}

interface Job {
  request: Request;
  channel: string;
  resolve: (result: LayoutResult) => void;
  reject: (error: Error) => void;
}

export type MakeWorker = () => Worker | Promise<Worker>;

export class LayoutClient {
  private worker: Worker | null = null;
  /** Set once workers turn out to be forbidden here. */
  private local: LayoutEngine | null = null;
  private workerHasAnswered = false;
  private opening = false;
  private readonly waiting: Job[] = [];
  private running: Job | null = null;
  private nextId = 1;
  private disposed = false;

  constructor(private readonly makeWorker: MakeWorker = fromBlob) {}

  /** Where the layout runs: for diagnostics. */
  get usesWorker(): boolean {
    return this.local === null;
  }

  run(input: LayoutInput, { newestWins = true, channel = "" }: RunOptions = {}): Promise<LayoutResult> {
    if (this.disposed) return Promise.reject(new Error("The layout client is closed."));
    if (newestWins) this.supersede(channel);
    return new Promise((resolve, reject) => {
      this.waiting.push({ request: { id: this.nextId++, input }, channel, resolve, reject });
      this.startNext();
    });
  }

  /** Opens the worker ahead of the first question, so that it starts while the page still reads its graph. */
  warm(): void {
    if (!this.disposed && !this.local && !this.worker && !this.opening) this.openWorker();
  }

  dispose(): void {
    this.disposed = true;
    this.worker?.terminate();
    this.worker = null;
    const jobs = this.running ? [this.running, ...this.waiting] : [...this.waiting];
    this.running = null;
    this.waiting.length = 0;
    for (const job of jobs) job.reject(new Superseded("The layout client was closed."));
  }

  private supersede(channel: string): void {
    const message = "A newer layout was asked for.";
    for (let i = this.waiting.length - 1; i >= 0; i--)
      if (this.waiting[i].channel === channel) this.waiting.splice(i, 1)[0].reject(new Superseded(message));
    // The running one can't be stopped; its answer will find nobody waiting.
    if (this.running?.channel === channel) this.running.reject(new Superseded(message));
  }

  private startNext(): void {
    if (this.running || this.opening || this.waiting.length === 0) return;
    if (!this.local && !this.worker) this.openWorker();
    if (this.opening) return;
    const job = (this.running = this.waiting.shift()!);
    if (this.local) this.runHere(job);
    else this.post(job);
  }

  private post(job: Job): void {
    try {
      this.worker!.postMessage(job.request);
    } catch (error) {
      this.finish(job.request.id, (j) => j.reject(new Error(`Layout failed: ${messageOf(error)}`)));
    }
  }

  private openWorker(): void {
    try {
      const made = this.makeWorker();
      if (!(made instanceof Promise)) return this.use(made);
      this.opening = true;
      const opened = () => {
        this.opening = false;
        this.startNext();
      };
      made.then((worker) => (this.disposed ? worker.terminate() : this.use(worker)), () => { this.local = new LayoutEngine(); }).then(opened);
    } catch {
      this.local = new LayoutEngine();
    }
  }

  private use(worker: Worker): void {
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      this.workerHasAnswered = true;
      this.finish(data.id, (job) => ("error" in data ? job.reject(new Error(`Layout failed: ${data.error}`)) : job.resolve(data.result)));
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      if (worker === this.worker) this.lost(event.message || "the worker stopped");
    };
    this.worker = worker;
  }

  /** A worker that never answered was blocked by the page: go on here. One that did has crashed: the next call gets a new one. */
  private lost(message: string): void {
    this.worker?.terminate();
    this.worker = null;
    const job = this.running;
    if (!this.workerHasAnswered) {
      this.local = new LayoutEngine();
      if (job) this.runHere(job);
    } else if (job) this.finish(job.request.id, (j) => j.reject(new Error(`Layout failed: ${message}`)));
  }

  private runHere(job: Job): void {
    // A timer lets the page paint its "laying out" state first.
    setTimeout(() => {
      if (this.running !== job) return;
      try {
        const result = this.local!.layout(job.request.input);
        this.finish(job.request.id, (j) => j.resolve(result));
      } catch (error) {
        this.finish(job.request.id, (j) => j.reject(new Error(`Layout failed: ${messageOf(error)}`)));
      }
    }, 0);
  }

  private finish(id: number, settle: (job: Job) => void): void {
    if (this.running?.request.id !== id) return;
    const job = this.running;
    this.running = null;
    settle(job);
    this.startNext();
  }
}

let workerUrl = "";

/** One URL for all clients, kept: some browsers read the blob only after the constructor has returned. */
function fromBlob(): Worker | Promise<Worker> {
  const made = () => new Worker(workerUrl, { name: "tvm-workbench layout" });
  if (workerUrl) return made();
  // Under Node, and where there are none, nothing needs unpacking.
  if (typeof Worker === "undefined") throw new Error("there are no workers here");
  return unzipped(packedWorker).then((source) => {
    workerUrl ||= URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    return made();
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
