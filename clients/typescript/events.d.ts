/**
 * Every event that spoolwire sends, in every dialect (docs/dialects.md, docs/events.md).
 *
 * Each dialect has a map from the names of its events to their payloads, and a union of them:
 *
 *     import type { AgentEvent, AgentEvents } from "./events";
 *
 *     const event: AgentEvent = JSON.parse(message.data);
 *     if (event.type === "agent.token") show(event.agent_id, event.token);
 *
 *     function on<K extends keyof AgentEvents>(name: K, show: (event: AgentEvents[K]) => void) {
 *         source.addEventListener(name, (e) => show(JSON.parse(e.data)));
 *     }
 *
 * Members may be added by later versions: ignore what you do not know.
 */

/** What came from a worker, as it was sent. What is too large is a {@link Truncated}. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Stands for a value that was larger than `max_field`. */
export interface Truncated {
    truncated: true;
    bytes: number;
    preview?: string;
}

/** UTC with milliseconds: `2026-02-16T10:30:00.123Z`. */
export type Timestamp = string;

/** How a run ended that did not end well. */
export type BadEnd = "error" | "cancelled" | "interrupted" | "retried";
export type RunStatus = "ok" | BadEnd;

/** Why a job that succeeded is not done: it was ended at a question. */
export type Outcome = "interrupted";

/* --- agent ----------------------------------------------------------------------------- */

export interface AgentSpawned {
    type: "agent.spawned";
    agent_id: string;
    agent_name: string;
    node: string;
}

export interface AgentToken {
    type: "agent.token";
    agent_id: string;
    /** Never empty. */
    token: string;
}

export interface AgentToolCall {
    type: "agent.tool_call";
    agent_id: string;
    tool_name: string | null;
    /** JSON, cut to a few dozen characters. */
    input_preview: string;
}

export interface AgentToolResult {
    type: "agent.tool_result";
    agent_id: string;
    tool_name: string | null;
    result_summary: string;
    status?: BadEnd;
}

export interface AgentDone {
    type: "agent.done";
    agent_id: string;
    node: string;
    elapsed_ms: number;
    status?: BadEnd;
}

export interface GraphNodeComplete {
    type: "graph.node_complete";
    node: string;
    step: number | null;
}

export interface GraphInterrupt {
    type: "graph.interrupt";
    question?: Json;
    context?: Json;
    interrupt_id: string;
    value: Json;
}

export interface GraphPaused {
    type: "graph.paused";
    job_id: string;
}

export interface GraphResumed {
    type: "graph.resumed";
    job_id: string;
    /** The questions that are open no more. */
    interrupt_ids: string[];
}

export interface OutputToken {
    type: "output.token";
    token: string;
    section: string | null;
}

export interface OutputSectionDone {
    type: "output.section_done";
    section: string;
}

export interface JobDone {
    type: "job.done";
    outcome?: Outcome;
}

export interface JobFailed {
    type: "job.failed";
    error: string;
    status?: "cancelled";
    /** What else is known of the error, such as the `stderr` of a process. */
    details?: JsonObject;
}

export interface AgentEvents {
    "agent.spawned": AgentSpawned;
    "agent.token": AgentToken;
    "agent.tool_call": AgentToolCall;
    "agent.tool_result": AgentToolResult;
    "agent.done": AgentDone;
    "graph.node_complete": GraphNodeComplete;
    "graph.interrupt": GraphInterrupt;
    "graph.paused": GraphPaused;
    "graph.resumed": GraphResumed;
    "output.token": OutputToken;
    "output.section_done": OutputSectionDone;
    "job.done": JobDone;
    "job.failed": JobFailed;
}
export type AgentEvent = AgentEvents[keyof AgentEvents];

/* --- envelope -------------------------------------------------------------------------- */

export interface Envelope<Name extends string, Data> {
    event: Name;
    timestamp: Timestamp;
    /** The job's id. */
    run_id: string;
    data: Data;
}

/** The execution that something happened in; absent outside of one. */
export interface Owner {
    node_id?: string;
    node?: string;
}

export interface ChainStart {
    chain_name: string;
    node_id: string;
    /** Absent of the job itself, null outside of a node. */
    node?: string | null;
    metadata: JsonObject | null;
}

export interface ChainStream {
    node_id: string;
    node: string | null;
    chunk: Json;
    /** As the worker sent it. */
    progress: number | null;
}

export interface ChainEnd {
    node_id: string;
    node: string | null;
    result: Json;
    error: string | null;
    duration_ms: number;
    /** Of the job itself. */
    outcome?: Outcome;
}

export interface ChatModelStart extends Owner {
    model: string | null;
    /** As the worker sent them. */
    model_version: string | null;
    prompt_id: string | null;
    model_run_id: string;
}

export interface ChatModelStream extends Owner {
    model: string | null;
    /** May be empty beside reasoning or tool calls. */
    chunk: string;
    token_index: number;
    model_run_id: string;
    reasoning?: string;
    tool_call_chunks?: ToolCallChunk[];
}

export interface ChatModelEnd extends Owner {
    model: string | null;
    final_text: string | null;
    error: string | null;
    duration_ms: number;
    model_run_id: string;
}

export interface ToolStart extends Owner {
    tool_id: string;
    tool_name: string | null;
    tool_call_id: string | null;
    input: Json;
}

export interface ToolStream extends Owner {
    tool_id: string;
    chunk: Json;
}

export interface ToolEnd extends Owner {
    tool_id: string;
    tool_name: string | null;
    tool_call_id: string | null;
    output: Json;
    error: string | null;
    duration_ms: number;
}

export interface Progress extends Owner {
    percent: number;
    message: string | null;
}

export interface Interrupt extends Owner {
    kind: "interrupt" | "pause";
    interrupt_id: string | null;
    value: Json;
    question: Json;
    context: Json;
}

export interface Resume {
    interrupt_ids: string[];
}

export interface ErrorData {
    phase: "queue" | "worker" | "node" | "server";
    message: string;
    /** With `error_type`, where it is known. */
    details: JsonObject | null;
}

export interface EnvelopeEvents {
    on_chain_start: Envelope<"on_chain_start", ChainStart>;
    on_chain_stream: Envelope<"on_chain_stream", ChainStream>;
    on_chain_end: Envelope<"on_chain_end", ChainEnd>;
    on_chat_model_start: Envelope<"on_chat_model_start", ChatModelStart>;
    on_chat_model_stream: Envelope<"on_chat_model_stream", ChatModelStream>;
    on_chat_model_end: Envelope<"on_chat_model_end", ChatModelEnd>;
    on_tool_start: Envelope<"on_tool_start", ToolStart>;
    on_tool_stream: Envelope<"on_tool_stream", ToolStream>;
    on_tool_end: Envelope<"on_tool_end", ToolEnd>;
    on_progress: Envelope<"on_progress", Progress>;
    on_interrupt: Envelope<"on_interrupt", Interrupt>;
    on_resume: Envelope<"on_resume", Resume>;
    on_error: Envelope<"on_error", ErrorData>;
}
export type EnvelopeEvent = EnvelopeEvents[keyof EnvelopeEvents];

/* --- messages -------------------------------------------------------------------------- */

/** A part of a tool call, or all of one; models differ in what they send. */
export interface ToolCallChunk {
    name?: string | null;
    args?: string | null;
    id?: string | null;
    index?: number | null;
    type?: "tool_call_chunk";
}

/** What is new of a streamed message. */
export interface AIMessageChunk {
    /** Text, or a list of blocks from models that have them. */
    content: string | Json[];
    additional_kwargs: JsonObject;
    response_metadata: JsonObject;
    type: "AIMessageChunk";
    id: string;
    tool_calls: [];
    invalid_tool_calls: [];
    usage_metadata?: JsonObject;
    tool_call_chunks: ToolCallChunk[];
}

/** A message that was not streamed, as the worker sent it. */
export interface WholeMessage {
    type: "ai" | "human" | "tool" | "system" | "function" | "remove" | "chat" | "developer" | "generic";
    content: string | Json[];
    id: string;
    [more: string]: Json;
}

export interface RunMetadata {
    run_id: string;
    attempt: number;
}

/** The graph's state; `__interrupt__` is the list of open questions, empty at a pause. */
export interface State {
    [key: string]: Json;
    __interrupt__?: OpenQuestion[];
}

export type OpenQuestion = { value: Json; id: string };

/** A LangChain event, put together again. */
export interface LangChainEvent {
    event:
        | `on_${"chain" | "prompt" | "parser" | "chat_model" | "llm" | "tool" | "retriever"}_${"start" | "stream" | "end"}`
        | "on_tool_error"
        | "on_custom_event";
    data: Json;
    /** Null where the worker has sent none. */
    name: string | null;
    tags: Json[];
    run_id: string;
    metadata: JsonObject;
    parent_ids?: string[];
}

export interface RunError {
    error: string;
    message: string;
}

/** With subgraphs, names may have a namespace behind them: `updates|writer:6a70…`. */
export interface MessagesEvents {
    metadata: RunMetadata;
    messages: [message: AIMessageChunk | WholeMessage, metadata: JsonObject];
    values: State;
    updates: State;
    custom: Json;
    events: LangChainEvent;
    tasks: JsonObject;
    checkpoints: JsonObject;
    debug: JsonObject;
    tools: JsonObject;
    error: RunError;
}
export type MessagesEvent = MessagesEvents[keyof MessagesEvents];

/* --- nodes ----------------------------------------------------------------------------- */

export interface RunStart {
    type: "run.start";
    /** The job's id. */
    run_id: string;
    timestamp: Timestamp;
}

export interface RunEnd {
    type: "run.end";
    run_id: string;
    timestamp: Timestamp;
    status: "ok" | "error" | "cancelled";
    duration_ms: number;
    error?: string;
    outcome?: Outcome;
}

export interface NodeStart {
    type: "node.start";
    run_id: string;
    node: string;
    step: number | null;
    run_path: string;
    timestamp: Timestamp;
}

export interface NodeEnd {
    type: "node.end";
    run_id: string;
    node: string;
    step: number | null;
    run_path: string;
    timestamp: Timestamp;
    status: RunStatus;
    duration_ms: number;
    error?: string;
    chains: number;
    llm_calls: number;
    tools: number;
}

export interface NodesToolStart {
    type: "tool.start";
    run_id: string;
    tool: string | null;
    node: string | null;
    run_path: string;
    timestamp: Timestamp;
    input: Json;
}

export interface NodesToolEnd {
    type: "tool.end";
    run_id: string;
    tool: string | null;
    node: string | null;
    run_path: string;
    timestamp: Timestamp;
    status: RunStatus;
    duration_ms: number;
    output: Json;
    error?: string;
}

/** Only for readers that ask for the mode `events`. */
export interface NodesProgress {
    type: "progress";
    /** The execution that tells it. */
    run_id: string | null;
    node: string | null;
    timestamp: Timestamp;
    percent: number;
    message: string | null;
}

export interface NodesEvents {
    "run.start": RunStart;
    "node.start": NodeStart;
    "tool.start": NodesToolStart;
    "tool.end": NodesToolEnd;
    progress: NodesProgress;
    "node.end": NodeEnd;
    "run.end": RunEnd;
}
export type NodesEvent = NodesEvents[keyof NodesEvents];

/* --- aiq ------------------------------------------------------------------------------- */

/** Start and end of one run share their id; what is no run has `<job>:<number>`. */
export interface Aiq<Type extends string, Data, Metadata, Id = string, Name = string | null> {
    type: Type;
    id: Id;
    name: Name;
    timestamp: Timestamp;
    data: Data;
    metadata: Metadata;
}

/** The execution that something happened in; absent outside of one. */
export interface Place {
    workflow?: string | null;
    agent_id?: string;
}

export interface WorkflowPlace {
    workflow: string | null;
    agent_id: string;
}

export interface EndPlace {
    status: RunStatus;
    error?: string;
}

export interface Input {
    input: Json;
    output: null;
}

export interface Output {
    input: null;
    output: Json;
}

export interface LlmStartPlace extends Place {
    message_count?: number;
    prompt_count?: number;
}

export interface LlmEndPlace extends Place {
    thinking?: string;
    usage?: JsonObject;
    error?: string;
}

export interface ToolPlace extends Place {
    tool_call_id?: string;
}

/** An artifact that a worker announces itself is passed on as it is, and may lack what is optional here. */
export type Artifact =
    | { type: "todo"; content: Json; source?: "agent" | "orchestrator"; workflow?: string }
    | { type: "file"; content: Json; file_path?: string | null; workflow?: string }
    | { type: "citation_source"; content: string; url?: string; tool?: string; workflow?: string }
    | { type: "citation_use"; content: string; url?: string; workflow?: string }
    | {
          type: "output";
          content: string;
          output_category?: "draft" | "research_notes" | "intermediate" | "final_report";
          workflow?: string;
      };

/** Data of a `job.update`: of one named `interrupt` or `pause`. */
export interface Question {
    interrupt_id: string | null;
    value: Json;
    question: Json;
    context: Json;
}

/** … of any other that is not named `resume`. */
export interface Note {
    output: string | null;
}

export type AiqUpdate =
    | Aiq<"job.update", Question, null, string, "interrupt" | "pause">
    | Aiq<"job.update", Resume, null, string, "resume">
    | Aiq<"job.update", Note, null, string, string>;

export interface AiqError
    extends Aiq<"job.error", { error: string; error_type: string | null; details?: JsonObject }, null, string, null> {
    error: string;
}

export interface Reason {
    reason: string | null;
}

/** Lower case when the server is set to that (`aiq_compat`). INTERRUPTED means cancelled. */
export type AiqStatusName<S extends string> = S | Lowercase<S>;

/** The last event of a job. */
export interface AiqEnd extends Aiq<"job.status", null, null, string, null> {
    status: AiqStatusName<"SUCCESS" | "FAILURE" | "INTERRUPTED">;
    /** The reader has come back after the end: this is its first status. */
    reconnected?: true;
    error?: string;
    outcome?: Outcome;
}

/** Made for the connection; without an SSE id. */
export interface AiqStatus extends Aiq<"job.status", null, null, null, null> {
    status: AiqStatusName<"SUBMITTED" | "RUNNING" | "SUCCESS" | "FAILURE" | "INTERRUPTED">;
    reconnected?: true;
    error?: string;
}

/** Made for the connection: `polling` while what is stored is sent, then `live`; or `pubsub`, if the events come from another gateway by NOTIFY. */
export interface StreamMode extends Aiq<"stream.mode", null, null, null, null> {
    mode: "polling" | "live" | "pubsub";
}

/** Made for the connection, every 30 s; readers of `raw` get it, too. `worker` runs the job at this moment. */
export type JobHeartbeat = Aiq<"job.heartbeat", { uptime_seconds: number; worker?: string }, null, null, null>;

/** Made for the connection: the server goes down, connect again. Readers of `raw` get it, too. */
export type JobShutdown = Aiq<"job.shutdown", { message: string }, null, null, null>;

export interface AiqEvents {
    "workflow.start": Aiq<"workflow.start", Input, WorkflowPlace, string>;
    "workflow.end": Aiq<"workflow.end", Output, WorkflowPlace & EndPlace, string>;
    "llm.start": Aiq<"llm.start", null, LlmStartPlace>;
    "llm.chunk": Aiq<"llm.chunk", { chunk: string }, Place>;
    "llm.end": Aiq<"llm.end", null, LlmEndPlace>;
    "tool.start": Aiq<"tool.start", Input, ToolPlace, string>;
    "tool.end": Aiq<"tool.end", Output, ToolPlace & EndPlace, string>;
    "artifact.update": Aiq<"artifact.update", Artifact, Place>;
    "job.update": AiqUpdate;
    "job.error": AiqError;
    "job.cancelled": Aiq<"job.cancelled", Reason, null, string, null>;
    "job.cancellation_requested": Aiq<"job.cancellation_requested", Reason, null, string, null>;
    "job.status": AiqEnd | AiqStatus;
    "stream.mode": StreamMode;
    "job.heartbeat": JobHeartbeat;
    "job.shutdown": JobShutdown;
}
export type AiqEvent = AiqEvents[keyof AiqEvents];

/* --- raw ------------------------------------------------------------------------------- */

/** The stored record (docs/record.md), with the constant part of its run written into it. */
export interface RawRecord<Kind extends string> {
    /** 1, 2, 3, … within the job, without gaps. */
    seq: number;
    /** When spoolwire received it, in milliseconds since 1970. */
    ts: number;
    kind: Kind;
}

/** The constant part of a run. What is absent does not apply. */
export interface RunPart {
    run?: string;
    parent?: string;
    exec?: string;
    node?: string;
    ns?: string;
    name?: string;
    type?: "chain" | "prompt" | "parser" | "chat_model" | "llm" | "tool" | "retriever";
    section?: string;
    model?: string;
    path?: string;
    step?: number;
    depth?: number;
    root?: true;
    top?: true;
    card?: true;
    panel?: true;
    counted?: true;
    derived?: true;
    outer?: true;
    tags?: Json[];
    meta?: JsonObject;
    parents?: string[];
}

/** What happened in a run. */
export interface RawOfRun<Kind extends string> extends RawRecord<Kind>, RunPart {
    run: string;
    /** Absent where the worker has sent none. */
    name?: string;
    path: string;
}

/** What may have happened outside of any run. */
export interface RawAnywhere<Kind extends string> extends RawRecord<Kind>, RunPart {}

export interface RawStart<Kind extends string> extends RawOfRun<Kind> {
    input?: Json;
    lossy?: true;
}

export interface RawEnd<Kind extends string> extends RawOfRun<Kind> {
    elapsed: number;
    status: RunStatus;
    output?: Json;
    error?: string;
    error_type?: string;
    lossy?: true;
}

export interface RawJobStart extends RawRecord<"job.start"> {
    attempt: number;
    job: string;
    agent: string;
}

export interface RawJobEnd extends RawRecord<"job.end"> {
    elapsed: number;
    status: "succeeded" | "failed" | "cancelled";
    outcome?: Outcome;
    error?: string;
    error_type?: string;
    details?: JsonObject;
    output?: Json;
    /** Namespaces that were not closed, that were closed by the last step, and questions. */
    open?: string[];
    closes?: string[];
    asks?: Json[];
}

export interface RawJobError extends RawRecord<"job.error"> {
    phase: "queue" | "worker" | "node" | "server";
    error: string;
    error_type?: string;
    details?: JsonObject;
}

export interface RawJobUpdate extends RawAnywhere<"job.update"> {
    title?: string;
    text?: string;
    /** A new attempt begins. */
    attempt?: number;
}

export interface RawJobInterrupt extends RawAnywhere<"job.interrupt"> {
    id: string;
    data: Json;
    question?: Json;
    context?: Json;
    /** All that are open, when there are several. */
    open?: OpenQuestion[];
    lossy?: true;
}

export interface RawJobPaused extends RawAnywhere<"job.paused"> {
    id?: string;
    data?: Json;
}

export interface RawJobResumed extends RawAnywhere<"job.resumed"> {
    resolves: string[];
}

export interface RawNodeStart extends RawStart<"node.start"> {
    depth: number;
    /** Ids of messages in its input that were there before. */
    seen?: string[];
}

export interface RawRunEnd extends RawEnd<"run.end"> {
    /** Its output was sent before, as a state. */
    mirror?: true;
}

export interface RawNodeEnd extends RawEnd<"node.end"> {
    depth: number;
    chains?: number;
    llms?: number;
    tools?: number;
    /** A `node.complete` follows. */
    owes?: true;
}

export interface RawNodeComplete extends RawRecord<"node.complete"> {
    node: string;
    step?: number;
}

export interface RawRunStream extends RawOfRun<"run.stream"> {
    data: Json;
    /** The progress that came with it. */
    percent?: number;
    lossy?: true;
}

export interface RawLlmStart extends RawStart<"llm.start"> {
    count?: number;
    opens?: number;
    model_version?: string;
    prompt_id?: string;
}

/** A token that only repeats another for the output panel belongs to no run. */
export interface RawLlmDelta extends RawAnywhere<"llm.delta"> {
    index?: number;
    first?: true;
    last?: true;
    half?: number;
    lossy?: true;
    mirror?: true;
    title?: string;
    message?: string;
    text?: string;
    reasoning?: string;
    content?: Json;
    calls?: ToolCallChunk[];
    usage?: JsonObject;
    response?: JsonObject;
    extra?: JsonObject;
}

export interface RawLlmEnd extends RawOfRun<"llm.end"> {
    elapsed: number;
    last?: true;
    lossy?: true;
    title?: string;
    status: RunStatus;
    error?: string;
    error_type?: string;
    message?: string;
    text?: string;
    reasoning?: string;
    content?: Json;
    calls?: Json[];
    usage?: JsonObject;
    response?: JsonObject;
    extra?: JsonObject;
}

export interface RawToolStart extends RawStart<"tool.start"> {
    call?: string;
    preview?: string;
    mirror?: true;
}

export interface RawToolEnd extends RawEnd<"tool.end"> {
    call?: string;
    preview?: string;
    mirror?: true;
}

export interface RawState<Kind extends string> extends RawAnywhere<Kind> {
    data: Json;
    opens?: number;
    closes?: string[];
    call?: string;
    cause?: string;
    owes?: true;
    mirror?: true;
    lossy?: true;
}

export interface RawMessage extends RawAnywhere<"message"> {
    message: string;
    call?: string;
    opens?: number;
    data: JsonObject;
    lossy?: true;
}

export interface RawSectionEnd extends RawAnywhere<"section.end"> {
    text: string;
}

export interface RawArtifact extends RawAnywhere<"artifact"> {
    id?: string;
    title?: string;
    data: Artifact;
}

export interface RawCustom extends RawAnywhere<"custom"> {
    title?: string;
    tool?: true;
    data: Json;
    lossy?: true;
}

export interface RawProgress extends RawAnywhere<"progress"> {
    title?: string;
    note?: string;
    tool?: true;
    percent: number;
    data: Json;
    lossy?: true;
}

export interface RawEvents {
    "job.start": RawJobStart;
    "job.end": RawJobEnd;
    "job.error": RawJobError;
    "job.cancelled": RawRecord<"job.cancelled"> & { error?: string };
    "job.cancel_requested": RawRecord<"job.cancel_requested"> & { error?: string };
    "job.update": RawJobUpdate;
    "job.interrupt": RawJobInterrupt;
    "job.paused": RawJobPaused;
    "job.resumed": RawJobResumed;
    "run.start": RawStart<"run.start">;
    "run.stream": RawRunStream;
    "run.end": RawRunEnd;
    "run.info": RawOfRun<"run.info">;
    "node.start": RawNodeStart;
    "node.end": RawNodeEnd;
    "node.complete": RawNodeComplete;
    "llm.start": RawLlmStart;
    "llm.delta": RawLlmDelta;
    "llm.end": RawLlmEnd;
    "llm.repeat": RawOfRun<"llm.repeat">;
    "tool.start": RawToolStart;
    "tool.end": RawToolEnd;
    "retriever.start": RawStart<"retriever.start">;
    "retriever.end": RawEnd<"retriever.end">;
    "state.values": RawState<"state.values">;
    "state.updates": RawState<"state.updates">;
    "state.tasks": RawState<"state.tasks">;
    "state.checkpoints": RawState<"state.checkpoints">;
    "state.debug": RawState<"state.debug">;
    "state.tools": RawState<"state.tools">;
    message: RawMessage;
    "section.end": RawSectionEnd;
    artifact: RawArtifact;
    custom: RawCustom;
    progress: RawProgress;
    "job.heartbeat": JobHeartbeat;
    "job.shutdown": JobShutdown;
}
export type RawEvent = RawEvents[keyof RawEvents];

/* --- all dialects ---------------------------------------------------------------------- */

/** Made for the connection: what follows the cursor is not there; all that is left follows. */
export interface StreamGap {
    type: "stream.gap";
    requested: number;
    /** Only when retention has removed what was asked for: the oldest that is left. */
    oldest?: number;
    tail: number;
}

export interface StreamEvents {
    "stream.gap": StreamGap;
}

export interface Dialects {
    agent: AgentEvents & StreamEvents;
    envelope: EnvelopeEvents & StreamEvents;
    messages: MessagesEvents & StreamEvents;
    nodes: NodesEvents & StreamEvents;
    aiq: AiqEvents & StreamEvents;
    raw: RawEvents & StreamEvents;
}
export type Dialect = keyof Dialects;

/** Behind what came, where events do not carry their ids: the cursor to go on from. */
export interface StreamCursor {
    type: "stream.cursor";
    id: string;
}

/** Through silence, between JSON lines with `?envelope=0`. */
export interface BareKeepAlive {
    type: "stream.keep_alive";
}

/** An event by itself: a message of a WebSocket, a JSON line with `?envelope=0`. */
export type Bare<D extends Exclude<Dialect, "messages">> = Dialects[D][keyof Dialects[D]] | StreamCursor | BareKeepAlive;

/** Through silence, between JSON lines. */
export interface StreamKeepAlive {
    event: "stream.keep_alive";
    data: null;
}

/**
 * An event with its name and its id: a JSON line, an item of a page, a message of a WebSocket
 * with `?envelope=1` (and always of `messages`). `id` is the cursor to go on from; what was made
 * for the connection has none.
 */
export type Wrapped<D extends Dialect> = {
    [Name in keyof Dialects[D] & string]: {
        job?: string;
        id?: string;
        event: D extends "messages" ? Name | `${Name}|${string}` : Name;
        data: Dialects[D][Name];
    };
}[keyof Dialects[D] & string];

/** An answer of `GET /v1/jobs/{id}/events?wait=…`. */
export interface Page<D extends Dialect> {
    events: Wrapped<D>[];
    /** The cursor for the next page. */
    next: string;
    /** There will be no more. */
    ended: boolean;
}

/* --- many jobs on one connection: GET /v1/stream ------------------------------------------ */

/** The connection itself, or a job's place on it. */
export interface About<Type extends string> {
    type: Type;
}

/** What was asked for is not possible. */
export interface StreamError {
    type: "stream.error";
    status: number;
    message: string;
}

/** The system topic: a job has another state. */
export interface JobState {
    type: "job.state";
    agent: string;
    state: "queued" | "running" | "waiting" | "succeeded" | "failed" | "cancelled" | "deleted";
    attempt: number;
    timestamp: Timestamp;
}

/** The system topic: a question of a job was asked, answered, has expired, or was closed. */
export interface InterruptState {
    type: "interrupt.state";
    agent: string;
    interrupt_id: string;
    state: "open" | "answered" | "expired" | "closed";
    /** Of an open one: as in `GET /v1/interrupts`, `null` also for one of more than 4 KiB. */
    question?: Json;
    /** Of an open one that expires. */
    expires_at?: Timestamp;
    timestamp: Timestamp;
}

export interface ConnectionEvents {
    /** Without a job: the system topic is followed from here on. */
    "stream.subscribed": About<"stream.subscribed">;
    "stream.unsubscribed": About<"stream.unsubscribed">;
    "stream.ended": About<"stream.ended">;
    "stream.deleted": About<"stream.deleted">;
    /** Without a job: some `job.state` or `interrupt.state` were left out. */
    "stream.gap": About<"stream.gap">;
    "stream.error": StreamError;
    "job.state": JobState;
    "interrupt.state": InterruptState;
}

/** A message of the server: an event of a job, or one about the connection. */
export type Message<D extends Dialect> =
    | Wrapped<D>
    | {
          [Name in keyof ConnectionEvents]: {
              job?: string;
              event: Name;
              data: ConnectionEvents[Name];
          };
      }[keyof ConnectionEvents];

/** What a client may say over a WebSocket. */
export type Order =
    | { type: "subscribe"; job: string; dialect?: Dialect; modes?: string; subgraphs?: string; after?: string }
    | { type: "subscribe" | "unsubscribe"; topic: "system" }
    | { type: "unsubscribe"; job: string };
